/// From where the value of an option comes; the first of these that has one counts.
enum OptionOrigin: String, CaseIterable, Sendable {
    case commandLine
    case variable
    case file
    case fallback = "default"
}
