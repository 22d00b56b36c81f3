import BrumeModel
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Positions of streams")
struct PositionSealerTests {
    private static let key = [UInt8](repeating: 3, count: 32)
    private let sealer = PositionSealer(key: key)
    private let scope: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    private static var positions: [StreamPosition] {
        let places = [
            nil, StreamPosition.Place(run: .max, position: ChangePosition(rawValue: .max)),
            StreamPosition.Place(run: 0, position: .start),
            StreamPosition.Place(run: 7, position: ChangePosition(sequence: 9, index: 2)),
        ]
        return places.flatMap { first in
            places.map { second in
                var position = StreamPosition()
                position[.privateDatabase] = first
                position[.publicDatabase] = second
                return position
            }
        }
    }

    @Test("hold the place in each source, and nothing of those they don't name")
    func roundTrip() throws {
        var seals: Set<[UInt8]> = []
        for position in Self.positions {
            let sealed = sealer.seal(position, scope: scope)
            #expect(sealed == sealer.seal(position, scope: scope))
            #expect(try PositionSealer(key: Self.key).open(sealed, scope: scope) == position)
            #expect(seals.insert(sealed).inserted)
        }
        #expect(try sealer.open([], scope: scope) == nil)
    }

    @Test("of another account have expired, and what the server did not make is refused")
    func foreign() {
        var other = scope
        other[7] ^= 1
        for position in Self.positions {
            let sealed = sealer.seal(position, scope: scope)
            #expect(refusal(of: sealed, scope: other) == .changeTokenExpired)
            #expect(refusal(of: Array(sealed.dropLast()), scope: scope) == .invalidArguments)
            #expect(refusal(of: sealed + [0], scope: scope) == .invalidArguments)
            #expect(refusal(of: [4] + sealed.dropFirst(), scope: scope) == .invalidArguments)
            let stranger = PositionSealer(key: [UInt8](repeating: 4, count: 32)).seal(position, scope: scope)
            #expect(refusal(of: stranger, scope: scope) == .invalidArguments)
        }
    }

    @Test("are no change tokens, nor the other way round")
    func tokens() {
        let tokens = TokenSealer(key: Self.key)
        let token = ChangeToken(kind: .database, epoch: 1, incarnation: 0, position: .start)
        #expect(refusal(of: tokens.seal(token, scope: scope), scope: scope) == .invalidArguments)
        let sealed = sealer.seal(Self.positions[5], scope: scope)
        for kind in [ChangeToken.Kind.zone, .database] {
            #expect(throws: ServiceError.self) { try tokens.open(sealed, kind: kind, scope: scope) }
        }
    }

    private func refusal(of bytes: [UInt8], scope: [UInt8]) -> ErrorCode? {
        do throws(ServiceError) {
            _ = try sealer.open(bytes, scope: scope)
            return nil
        } catch {
            return error.code
        }
    }
}
