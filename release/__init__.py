"""What makes and checks the files of a release."""
