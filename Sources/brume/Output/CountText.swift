/// A number with its noun: `1 record`, `2 records`.
enum CountText {
    static func text(_ count: Int, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }
}
