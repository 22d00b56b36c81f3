internal import Foundation

/// Places where bytes lie that should hold no secret, and what is found there.
struct CanarySearch {
    /// By names.
    private(set) var places: [String: [[UInt8]]] = [:]

    var byteCount: Int { places.values.joined().reduce(0) { $0 + $1.count } }

    mutating func add(_ place: String, _ bytes: [UInt8]) {
        // Segments of the journal are written whole before they are used.
        let used = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        places[place, default: []].append(Array(bytes.prefix(used)))
    }

    mutating func add(_ place: String, _ text: String) { add(place, Array(text.utf8)) }

    /// The files of a folder, with what is compressed in the snapshots among them.
    mutating func add(_ place: String, folder: String) {
        for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
            guard let data = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
            let bytes = Array(data)
            add("\(place): \(name.split(separator: "/").first ?? "")", bytes)
            if let contents = SnapshotContents.blocks(of: bytes) {
                for block in contents { add("\(place): what is in snapshots", block) }
            }
        }
    }

    /// A canary in a place.
    struct Finding: Hashable {
        let canary: String
        let place: String
        let form: String
    }

    /// Where canaries are, and in which forms. Each place is gone through once, whatever their number.
    func find(_ canaries: [Canary]) -> Set<Finding> {
        var forms: [UInt32: [(canary: String, name: String, bytes: [UInt8])]] = [:]
        // Whether any form begins with two bytes: nearly all that is gone through does not.
        var begins = [Bool](repeating: false, count: 65_536)
        for canary in canaries {
            for form in canary.forms {
                let head = form.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
                forms[head, default: []].append((canary.name, form.name, form.bytes))
                begins[Int(UInt16(truncatingIfNeeded: head))] = true
            }
        }
        var findings: Set<Finding> = []
        for (place, parts) in places {
            for part in parts where part.count >= 4 {
                part.withUnsafeBytes { bytes in
                    begins.withUnsafeBufferPointer { begins in
                        for offset in 0...bytes.count - 4 {
                            let head = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                            guard begins[Int(UInt16(truncatingIfNeeded: head))], let fitting = forms[head] else {
                                continue
                            }
                            for form in fitting where bytes[offset...].starts(with: form.bytes) {
                                findings.insert(Finding(canary: form.canary, place: place, form: form.name))
                            }
                        }
                    }
                }
            }
        }
        return findings
    }
}
