/// The numbers that stand in front of what is stored. There is one suite; others will get a number of their own.
enum Suite {
    static let format: UInt8 = 1
    static let suite: UInt8 = 1

    /// Refuses what begins with others, whatever follows them.
    static func check(_ bytes: some Collection<UInt8>) throws(EncryptionRefusal) {
        for (number, known) in zip(bytes, [format, suite]) where number != known { throw .newer }
        guard bytes.count >= 2 else { throw .damaged }
    }
}
