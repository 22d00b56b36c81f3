/// The numbers that stand in front of what is stored. There is one suite; others will get a number of their own.
enum Suite {
    static let format: UInt8 = 1
    static let suite: UInt8 = 1
}
