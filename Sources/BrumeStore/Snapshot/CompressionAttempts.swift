/// Which blocks of a snapshot are worth the attempt to compress them. Pure.
///
/// What apps keep in bytes is usually compressed already: pictures, archives, ciphertext. From records of 1 KiB of such
/// bytes zstd saves 7 %, of their names and tags, for a tenth of the processor time that saving them in batches takes
/// altogether. So after a block that became shorter by less than an eighth the next ones are kept as they are: one,
/// then two, then four, up to ``skippedMax``; a block that does become shorter ends that.
struct CompressionAttempts {
    /// Few enough: where records are small, some 4 MiB of a snapshot that begins to be compressible are kept as they
    /// are.
    static let skippedMax = 16

    private var skipsNext = 0
    private var skipsLeft = 0

    /// Whether the next block is to be compressed. ``ended(contentBytes:frameBytes:)`` follows if so.
    mutating func isDue() -> Bool {
        if skipsLeft == 0 { return true }
        skipsLeft -= 1
        return false
    }

    mutating func ended(contentBytes: Int, frameBytes: Int) {
        if frameBytes < contentBytes - contentBytes / 8 {
            skipsNext = 0
        } else {
            skipsNext = min(max(1, 2 * skipsNext), Self.skippedMax)
            skipsLeft = skipsNext
        }
    }
}
