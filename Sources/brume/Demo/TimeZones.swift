internal import Foundation

/// The time zones of tzdata's `zone1970.tab`: places, lists of country codes, and comments.
enum TimeZones {
    static let path = "/usr/share/zoneinfo/zone1970.tab"
    static let zone = "TimeZones"
    static let recordType = "TimeZone"

    static func load(path: String = path) throws(CommandError) -> [DemoRecord] {
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandError(
                .notFound, "the demo's time zones are missing: \(path)", hint: "install them: apt-get install tzdata")
        }
        let text = String(decoding: try FileBytes.read(path), as: UTF8.self)
        return try records(text, path: path)
    }

    /// Rows of tab-separated columns: country codes, ISO 6709 coordinates, the zone's name, perhaps a comment.
    static func records(_ text: String, path: String) throws(CommandError) -> [DemoRecord] {
        var records: [DemoRecord] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("#") { continue }
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard columns.count >= 3, let location = coordinates(columns[1]) else {
                throw CommandError(
                    .failed, "\(path):\(index + 1): the line has no codes, coordinates and name",
                    hint: "install tzdata again")
            }
            let countries = columns[0].split(separator: ",").map { TypedValue.text(String($0)) }
            var fields: [String: TypedValue] = [
                "name": .text(columns[2]), "countries": .list(countries), "location": location,
            ]
            if columns.count > 3, !columns[3].isEmpty { fields["comments"] = .text(columns[3]) }
            records.append(DemoRecord(name: columns[2], fields: fields))
        }
        return records
    }

    /// `+4230+00131` or `+513030-0000731`: sign, degrees, minutes, perhaps seconds; latitude, then longitude.
    static func coordinates(_ text: String) -> TypedValue? {
        guard let split = text.dropFirst().firstIndex(where: { $0 == "+" || $0 == "-" }) else { return nil }
        guard let latitude = degrees(text[..<split], digits: 2), let longitude = degrees(text[split...], digits: 3)
        else {
            return nil
        }
        return try? TypedValue.checkedLocation(latitude, longitude)
    }

    private static func degrees(_ text: Substring, digits: Int) -> Double? {
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let number = text.dropFirst()
        guard number.count == digits + 2 || number.count == digits + 4, number.allSatisfy(\.isNumber) else {
            return nil
        }
        let degrees = Double(number.prefix(digits))
        let minutes = Double(number.dropFirst(digits).prefix(2))
        let seconds = number.count == digits + 4 ? Double(number.suffix(2)) : 0
        guard let degrees, let minutes, let seconds else { return nil }
        return (sign == "-" ? -1 : 1) * (degrees + minutes / 60 + seconds / 3600)
    }
}
