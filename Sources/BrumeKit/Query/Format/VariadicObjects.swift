internal import BrumeLock
internal import Foundation

/// The objects that texts stand for in lists of C arguments, for as long as the texts live:
/// `NSPredicate(format:arguments:)` finds them again.
enum VariadicObjects {
    private struct Entry: @unchecked Sendable {
        weak var text: NSString?
        /// Immutable, as what apps hand to predicates is: it is read by whoever reads the list.
        let value: Any
    }

    private struct Table: Sendable {
        var entries: [UInt: Entry] = [:]
        /// Entries after the last look for texts that are gone.
        var live = 0
    }

    private static let table = Lock(Table())

    static func note(_ value: Any, as text: NSString) {
        let entry = Entry(text: text, value: value)
        let address = address(of: text)
        table.withLock { table in
            table.entries[address] = entry
            // As many again as were live: each note pays for a step of the look.
            guard table.entries.count > 2 * table.live + 64 else { return }
            table.entries = table.entries.filter { $0.value.text != nil }
            table.live = table.entries.count
        }
    }

    /// The object that a text stands for; the text itself when it stands for none.
    static func value(of object: NSObject) -> Any {
        let address = address(of: object)
        let entry = table.withLock { $0.entries[address] }
        guard let entry, entry.text === object else { return object }
        return entry.value
    }

    private static func address(of object: NSObject) -> UInt {
        UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    }
}
