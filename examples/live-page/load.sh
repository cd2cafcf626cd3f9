#!/bin/sh
# Loads a page with headless Chromium through a simulated LTE cell, over HTTP/2 or HTTP/3.
#
#   ./load.sh http2                   needs node, openssl, chromium
#   PYTHON=venv/bin/python ./load.sh http3   needs Python with the package aioquic, openssl, chromium
#
# Prints the protocol and the time from the navigation's start until all images are there. Further
# words are options of `lasthop live`, such as --set cell.enb.resource_blocks=6.
set -e
cd "$(dirname "$0")"
protocol=$1
shift
# A self-signed certificate, which the browser accepts by the hash of its public key.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=server \
    -addext subjectAltName=DNS:server -keyout key.pem -out cert.pem 2>/dev/null
key=$(openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)
case $protocol in
http2) server="node http2.mjs" quic= ;;
http3) server="${PYTHON:-python3} http3.py" quic=--origin-to-force-quic-on=server:4433 ;;
*) echo "which: http2 or http3?" >&2 && exit 2 ;;
esac
profile=$(mktemp -d)
trap 'rm -rf "$profile" key.pem cert.pem' EXIT
# The namespace has rights of its own and the browser's sandbox can make no further one.
"${LASTHOP:-lasthop}" live lte-download --duration "60 s" "$@" --in server="$server" --in phone="sleep 1
    timeout 50 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$profile $quic \
    --ignore-certificate-errors-spki-list=$key --virtual-time-budget=8000 \
    --dump-dom https://server:4433/ 2>/dev/null"
