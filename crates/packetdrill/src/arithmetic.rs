//! Arithmetic expansion of the shell, `$((...))` (POSIX.1-2017, volume 3, section 2.6.4), on signed
//! 64-bit numbers.

/// Replaces each `$((...))` in the text with its value.
///
/// # Errors
///
/// The text between the parentheses is no expression of numbers, `+ - * / % << >>` and parentheses.
pub(crate) fn expand(text: &str) -> Result<String, String> {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("$((") {
        found.push_str(&rest[..start]);
        let inside = &rest[start + 3..];
        let mut p = Parser { text: inside, depth: 0 };
        let value = p.sum().filter(|_| p.take("))"));
        let Some(value) = value else {
            let line = inside.lines().next().unwrap_or_default();
            return Err(format!("the shell arithmetic `$(({line}`"));
        };
        found.push_str(&value.to_string());
        rest = p.text;
    }
    found.push_str(rest);
    Ok(found)
}

struct Parser<'a> {
    text: &'a str,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.text.trim_start();
        let found = rest.strip_prefix(sign);
        self.text = found.unwrap_or(rest);
        found.is_some()
    }

    /// Evaluates shifts, which bind loosest, then sums, then products.
    fn sum(&mut self) -> Option<i64> {
        let mut value = self.terms()?;
        loop {
            if self.take("<<") {
                value = value.checked_shl(u32::try_from(self.terms()?).ok()?)?;
            } else if self.take(">>") {
                value = value.checked_shr(u32::try_from(self.terms()?).ok()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn terms(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = value.checked_add(self.product()?)?;
            } else if self.take("-") {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        loop {
            if self.take("*") {
                value = value.checked_mul(self.factor()?)?;
            } else if self.take("/") {
                value = value.checked_div(self.factor()?)?;
            } else if self.take("%") {
                value = value.checked_rem(self.factor()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factor(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        if self.take("-") {
            return self.factor()?.checked_neg();
        }
        if self.take("(") {
            let value = self.sum()?;
            return self.take(")").then_some(value);
        }
        let end = self.text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.text.len());
        let (digits, rest) = self.text.split_at(end);
        self.text = rest;
        match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        }
    }
}

/// Numbers that an expression may have.
const DEPTH_MAX: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_place_of_expressions() {
        let text = "a=\"4096 $((256*1024)) $(( 15 * (1<<20) - -1 ))\"; b=$((0x10 / 3 % 3))";
        assert_eq!(expand(text).unwrap(), "a=\"4096 262144 15728641\"; b=2");
        assert_eq!(expand("nothing $(here) $x").unwrap(), "nothing $(here) $x");
    }

    #[test]
    fn text_that_is_no_expression_is_named() {
        for text in ["$((", "$((1", "$((1)", "$((x))", "$((1/0))", "$((9223372036854775807+1))", "$((1<<64))"]
        {
            let failed = expand(text).unwrap_err();
            assert!(failed.contains(text), "{failed}");
        }
        assert!(expand(&format!("$(({}1", "(".repeat(100_000))).is_err());
    }
}
