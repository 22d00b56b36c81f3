internal import BrumeModel
internal import BrumeRecord

/// Reads a request for records in place, without unpacking its message: see ``ModifyRecordsReader``.
///
/// A request for only some keys is not read here: its message is unpacked.
struct FetchRecordsReader {
    private var nameCount = 0

    static func read(_ bytes: UnsafeRawBufferPointer) -> FetchRecordsRequest? {
        var reader = FetchRecordsReader()
        do throws(WireReader.Damage) {
            return try reader.request(bytes)
        } catch {
            return nil
        }
    }

    private mutating func request(_ bytes: UnsafeRawBufferPointer) throws(WireReader.Damage) -> FetchRecordsRequest {
        var database: DatabaseScope?
        var zones: [FetchRecordsRequest.ZoneFetch] = []
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            guard element.number > last || element.number == 2 && last == 2 else { throw WireReader.Damage() }
            last = element.number
            switch element.number {
            case 1: database = try element.scope()
            case 2:
                guard zones.count < Limits.itemsPerRequest else { throw WireReader.Damage() }
                zones.append(try zone(try element.message()))
            default: throw WireReader.Damage()
            }
        }
        guard let database, (try? RequestChecks.distinctZones(zones, \.zone)) != nil else {
            throw WireReader.Damage()
        }
        return FetchRecordsRequest(database: database, zones: zones)
    }

    private mutating func zone(
        _ bytes: UnsafeRawBufferPointer
    ) throws(WireReader.Damage) -> FetchRecordsRequest.ZoneFetch {
        var id: ZoneID?
        var names: [String] = []
        var reader = WireReader(bytes)
        var last: UInt64 = 0
        while let element = try reader.next() {
            guard element.number > last || element.number == 2 && last == 2 else { throw WireReader.Damage() }
            last = element.number
            switch element.number {
            case 1: id = try .read(try element.message())
            case 2:
                nameCount += 1
                guard nameCount <= Limits.itemsPerRequest else { throw WireReader.Damage() }
                names.append(try element.text())
            default: throw WireReader.Damage()
            }
        }
        guard let id else { throw WireReader.Damage() }
        return FetchRecordsRequest.ZoneFetch(zone: id, names: names)
    }
}
