internal import Foundation

/// Reads an export line by line, and detects a truncated one.
final class ExportReader {
    private let storage: NSData
    private var parser: JSONParser
    private var zones: Set<String> = []
    private var recordLines = 0
    private var hasEnded = false
    /// Whether the export holds encrypted values in the clear.
    private(set) var isDecrypted = false
    /// The number of the line that was read last.
    private(set) var line = 0

    var offset: Int { parser.cursor.offset }

    init(_ data: Data) throws {
        // Contiguous and unchanged as long as this object keeps it.
        storage = NSData(data: data)
        parser = JSONParser(UnsafeRawBufferPointer(start: storage.bytes, count: storage.length))
        guard case .header(let isDecrypted) = try next(isFirst: true) else {
            throw RowError(line: 1, message: "this is no export; brume export makes one")
        }
        self.isDecrypted = isDecrypted
    }

    /// The next zone, record or deletion; nil after the last one. Any error ends the reading: an export is complete, or
    /// it can't be relied on.
    func next() throws(RowError) -> ExportLine? {
        if hasEnded { return nil }
        let value = try next(isFirst: false)
        switch value {
        case .header: throw RowError(line: line, message: "a second export begins")
        case .zone(let zone, _, _): zones.insert(zone)
        case .record(let zone, _, _), .deletion(let zone, _):
            guard zones.contains(zone) else {
                throw RowError(line: line, message: "the zone \(zone) has no line before its records")
            }
            if case .record(_, _, let opened) = value {
                recordLines += 1
                guard isDecrypted || opened.isEmpty else {
                    throw RowError(
                        line: line,
                        message: "an encrypted value is in the clear here, and the first line says that none is")
                }
            }
        case .end(let zoneCount, let recordCount):
            guard zoneCount == zones.count, recordCount == recordLines else {
                throw RowError(
                    line: line,
                    message: "the export should hold \(zoneCount) zones and \(recordCount) records, and holds "
                        + "\(zones.count) and \(recordLines): lines are missing")
            }
            hasEnded = true
            parser.cursor.skipWhitespace()
            guard parser.cursor.peek == nil else {
                throw RowError(line: parser.cursor.line, message: "something follows the last line")
            }
            return nil
        }
        return value
    }

    private func next(isFirst: Bool) throws(RowError) -> ExportLine {
        parser.cursor.skipWhitespace()
        line = parser.cursor.line
        guard parser.cursor.peek != nil else {
            throw RowError(
                line: line, message: isFirst ? "the file is empty" : "the export was cut short: its end is missing")
        }
        let json = try parser.value()
        do throws(ValueError) {
            return try ExportLine(json)
        } catch {
            throw RowError(line: line, message: error.message)
        }
    }
}
