/** A self-signed certificate for localhost that no machine trusts, valid until 2120. */
export const certificate = {
  key: toPem(
    'PRIVATE KEY',
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/xh8oAyVD6+B2W3xQhX1/XZ7CDbPhgf1JLac6U2fuRyhRANCAASPTEbFBUglKOSpmKW2u8897dpAU78gyKmltLFTJ4zVoV8SpYKrGbIHRaOje8SKJOfKlikPSlr+GdrsNdSmNyHl',
  ),
  cert: toPem(
    'CERTIFICATE',
    'MIIBEDCBuAIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABI9MRsUFSCUo5KmYpba7zz3t2kBTvyDIqaW0sVMnjNWhXxKlgqsZsgdFo6N7xIok58qWKQ9KWv4Z2uw11KY3IeUwCgYIKoZIzj0EAwIDRwAwRAIgX/WhSPYYMV4NoS/pYv38rVYgYP5R12mq3jeiRCQqoqcCIC3KkrLohZmxOCE5g7331EY/MHA54NJhbaKN1oQgrvG3',
  ),
}

function toPem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
}
