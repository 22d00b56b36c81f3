/// How long things are made, so that their sizes tell little (Documentation/EncryptionFormats.md, section 2).
enum Padding {
    /// The length that `length` is filled up to: a multiple of 32 up to 1 KiB, and above it Padmé's, which is less
    /// than 7 % more and tells of a length only its magnitude and some bits ("Reducing Metadata Leakage from Encrypted
    /// Files and Communication with PURBs", Nikitin and others, 2019).
    static func padded(_ length: UInt64) -> UInt64 {
        let unit: UInt64
        if length <= 1024 {
            unit = 32
        } else {
            let exponent = 63 - length.leadingZeroBitCount
            let kept = Int.bitWidth - 1 - exponent.leadingZeroBitCount + 1
            unit = 1 << UInt64(exponent - kept)
        }
        return (length + unit - 1) & ~(unit - 1)
    }
}
