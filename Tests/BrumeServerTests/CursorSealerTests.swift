import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite struct CursorSealerTests {
    private let sealer = CursorSealer(key: Array(repeating: 7, count: 32))
    private let place = QueryCursor(
        values: [.string(Array("ab".utf8)), .missing], created: ChangePosition(sequence: 3, index: 4))

    private func database(
        container: String = "iCloud.a", owner: String = "_1", environment: Environment = .development
    ) -> DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .private, owner: owner)
    }

    private func binding(
        _ database: DatabaseID? = nil, zone: String? = "Notes", caller: String = "_1", query: [UInt8] = [1, 2]
    ) -> [UInt8] {
        sealer.binding(database ?? self.database(), zone: zone, caller: caller, query: query)
    }

    private func failure(_ cursor: [UInt8], _ binding: [UInt8]) -> String? {
        do throws(ServiceError) {
            _ = try sealer.open(cursor, binding: binding)
            return nil
        } catch {
            #expect(error.code == .invalidArguments)
            return error.message
        }
    }

    @Test("a sealed cursor opens as it was, with every kind of value, and the longest fits the limit")
    func roundTrip() throws {
        let long = [UInt8](repeating: 0xA5, count: QueryCursor.SortValue.textBytes)
        let values: [QueryCursor.SortValue] = [
            .int64(.min), .int64(.max), .double(-0.5), .double(.infinity), .date(-1e9), .string([]), .string(long),
            .bytes(long), .reference(Array("target".utf8)), .missing,
        ]
        let longest = [QueryCursor.SortValue](repeating: .string(long), count: Limits.querySortKeys)
        for values in [[], values, longest] {
            for created in [0, 1, UInt64.max] {
                let place = QueryCursor(values: values, created: ChangePosition(rawValue: created))
                let sealed = sealer.seal(place, binding: binding())
                #expect(try sealer.open(sealed, binding: binding()) == place)
                #expect(sealed.count <= Limits.queryCursorBytes)
            }
        }
        #expect(try sealer.open([], binding: binding()) == nil, "no cursor is no cursor")
    }

    @Test("bytes that are cut or changed are no place, or another one, and never read past their end")
    func places() {
        let place = QueryCursor(
            values: [.int64(1), .string(Array("abc".utf8)), .missing, .date(2)], created: ChangePosition(rawValue: 7))
        let bytes = CursorSealer.encode(place)
        #expect(CursorSealer.decode(bytes) == place)
        for count in 0..<bytes.count { #expect(CursorSealer.decode(bytes.prefix(count)) != place) }
        for index in bytes.indices {
            for value in [0, 7, 255] as [UInt8] {
                var changed = bytes
                changed[index] = value
                if changed != bytes { #expect(CursorSealer.decode(changed) != place) }
            }
        }
        #expect(CursorSealer.decode([]) == nil)
        #expect(CursorSealer.decode(bytes + [9]) == nil, "an unknown kind")
        #expect(CursorSealer.decode(bytes + [4, 255, 255, 1]) == nil, "a text that is longer than all")
    }

    @Test("a cursor with any bit flipped, cut or made longer is refused as not ours")
    func damage() {
        let sealed = sealer.seal(place, binding: binding())
        for index in sealed.indices {
            for bit in 0..<8 {
                var bytes = sealed
                bytes[index] ^= 1 << bit
                #expect(failure(bytes, binding())?.contains("not made by this server") == true)
            }
        }
        for count in 1..<sealed.count { #expect(failure(Array(sealed.prefix(count)), binding()) != nil) }
        #expect(failure(sealed + [0], binding()) != nil)
        let other = CursorSealer(key: Array(repeating: 8, count: 32))
        #expect(failure(other.seal(place, binding: binding()), binding()) != nil)
    }

    @Test("a change token is no cursor, and a cursor no change token")
    func tokens() {
        let tokens = TokenSealer(key: Array(repeating: 7, count: 32))
        let scope = tokens.scope(database(), zone: "Notes")
        let token = ChangeToken(kind: .zone, epoch: 1, incarnation: 1, position: .start)
        #expect(failure(tokens.seal(token, scope: scope), binding()) != nil)
        // As long as a token of version 1.
        let place = QueryCursor(
            values: [.string([UInt8](repeating: 1, count: 46 - 25 - 8 - 3))], created: ChangePosition(rawValue: 1))
        let cursor = sealer.seal(place, binding: binding())
        #expect(cursor.count == 46)
        #expect(throws: ServiceError.self) { try tokens.open(cursor, kind: .zone, scope: scope) }
    }

    @Test("a cursor of another query, zone, database or account says so")
    func bindings() {
        let sealed = sealer.seal(place, binding: binding())
        let others = [
            binding(query: [1, 3]), binding(zone: "Other"), binding(zone: nil), binding(zone: ""),
            binding(caller: "_2"), binding(caller: ""), binding(database(container: "iCloud.b")),
            binding(database(owner: "_2")), binding(database(environment: .production)),
            // Parts that move over their border.
            binding(zone: "Note", query: [0x73, 1, 2]), binding(database(owner: "_1_1"), caller: ""),
        ]
        for other in others { #expect(failure(sealed, other)?.contains("belongs to another query") == true) }
        #expect(Set(others + [binding()]).count == others.count + 1)
    }
}
