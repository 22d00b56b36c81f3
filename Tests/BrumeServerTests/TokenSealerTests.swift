import BrumeModel
import BrumeSystem
import Testing

@testable import BrumeServer
@testable import BrumeService

private func database(container: String = "iCloud.a", owner: String = "_1", environment: Environment = .development)
    -> DatabaseID
{
    DatabaseID(container: container, environment: environment, scope: .private, owner: owner)
}

@Suite struct TokenSealerTests {
    private let sealer = TokenSealer(key: Array(repeating: 7, count: 32))
    private let token = ChangeToken(
        kind: .zone, epoch: 0xDEAD_BEEF, incarnation: 42, position: ChangePosition(sequence: 1 << 40, index: 9),
        firstFetchHead: ChangePosition(sequence: 1 << 41, index: 3),
        pageHead: ChangePosition(sequence: 1 << 42, index: 5))

    @Test("tokens of version 1 are still opened") func versionOne() throws {
        let scope = sealer.scope(database(), zone: "Notes")
        var bytes: [UInt8] = [1, 1, 0, 0, 0, 7] + [0, 0, 0, 0, 0, 0, 0, 42] + [0, 0, 0, 0, 0, 0x50, 0, 1] + scope
        bytes += MessageAuthentication(key: Array(repeating: 7, count: 32)).authenticate(bytes).prefix(16)
        #expect(
            try sealer.open(bytes, kind: .zone, scope: scope)
                == ChangeToken(
                    kind: .zone, epoch: 7, incarnation: 42, position: ChangePosition(sequence: 5, index: 1)))
    }

    @Test("tokens of version 2 are still opened") func versionTwo() throws {
        let scope = sealer.scope(database(), zone: "Notes")
        var bytes: [UInt8] = [2, 1, 0, 0, 0, 7] + [0, 0, 0, 0, 0, 0, 0, 42] + [0, 0, 0, 0, 0, 0x50, 0, 1]
        bytes += [0, 0, 0, 0, 0, 0x60, 0, 1] + scope
        bytes += MessageAuthentication(key: Array(repeating: 7, count: 32)).authenticate(bytes).prefix(16)
        #expect(
            try sealer.open(bytes, kind: .zone, scope: scope)
                == ChangeToken(
                    kind: .zone, epoch: 7, incarnation: 42, position: ChangePosition(sequence: 5, index: 1),
                    firstFetchHead: ChangePosition(sequence: 6, index: 1)))
    }

    @Test("tokens of version 3 are still opened") func versionThree() throws {
        let scope = sealer.scope(database(), zone: "Notes")
        var bytes: [UInt8] = [3, 1, 0, 0, 0, 7] + [0, 0, 0, 0, 0, 0, 0, 42] + [0, 0, 0, 0, 0, 0x50, 0, 1]
        bytes += [0, 0, 0, 0, 0, 0x60, 0, 1] + [0, 0, 0, 0, 0, 0x70, 0, 1] + scope
        bytes += MessageAuthentication(key: Array(repeating: 7, count: 32)).authenticate(bytes).prefix(16)
        #expect(
            try sealer.open(bytes, kind: .zone, scope: scope)
                == ChangeToken(
                    kind: .zone, epoch: 7, incarnation: 42, position: ChangePosition(sequence: 5, index: 1),
                    firstFetchHead: ChangePosition(sequence: 6, index: 1),
                    pageHead: ChangePosition(sequence: 7, index: 1)))
    }

    @Test("a token shows neither its position nor how far another one is from it, and equal ones are equal")
    func opacity() {
        let scope = sealer.scope(database(), zone: "Notes")
        let later = ChangeToken(
            kind: token.kind, epoch: token.epoch, incarnation: token.incarnation,
            position: ChangePosition(sequence: token.position.sequence + 1, index: 0),
            firstFetchHead: token.firstFetchHead, pageHead: token.pageHead)
        let (first, second) = (sealer.seal(token, scope: scope), sealer.seal(later, scope: scope))
        #expect(first == sealer.seal(token, scope: scope))
        // By chance one byte in 256 is the same.
        #expect(zip(first, second).dropFirst().count { $0 == $1 } <= 4)
    }

    @Test("a sealed token opens as it was") func roundTrip() throws {
        let scope = sealer.scope(database(), zone: "Notes")
        #expect(try sealer.open(sealer.seal(token, scope: scope), kind: .zone, scope: scope) == token)
    }

    @Test("no token is no token") func empty() throws {
        #expect(try sealer.open([], kind: .zone, scope: sealer.scope(database(), zone: "Notes")) == nil)
    }

    @Test("a token with any bit flipped is refused as not ours") func flippedBits() {
        let scope = sealer.scope(database(), zone: "Notes")
        let sealed = sealer.seal(token, scope: scope)
        for bit in 0..<sealed.count * 8 {
            var forged = sealed
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            do throws(ServiceError) {
                _ = try sealer.open(forged, kind: .zone, scope: scope)
                #expect(Bool(false), "bit \(bit) went unnoticed")
            } catch {
                #expect(error.code == .invalidArguments)
            }
        }
        for count in 1..<sealed.count {
            #expect(throws: ServiceError.self) {
                try sealer.open(Array(sealed[..<count]), kind: .zone, scope: scope)
            }
        }
    }

    @Test("a token of another zone, user, container, environment or kind has expired") func otherScopes() {
        let home = sealer.scope(database(), zone: "Notes")
        let others = [
            sealer.scope(database(), zone: "Other"), sealer.scope(database(owner: "_2"), zone: "Notes"),
            sealer.scope(database(container: "iCloud.b"), zone: "Notes"),
            sealer.scope(database(environment: .production), zone: "Notes"), sealer.scope(database(), zone: nil),
            sealer.scope(database(), zone: ""),
        ]
        #expect(Set(others + [home]).count == others.count + 1)
        let sealed = sealer.seal(token, scope: home)
        for scope in others {
            do throws(ServiceError) {
                _ = try sealer.open(sealed, kind: .zone, scope: scope)
                #expect(Bool(false), "the token opened elsewhere")
            } catch {
                #expect(error.code == .changeTokenExpired)
            }
        }
        #expect(throws: ServiceError.self) { try sealer.open(sealed, kind: .database, scope: home) }
    }

    @Test("names that run together are different scopes") func ambiguousNames() {
        #expect(
            sealer.scope(database(container: "iCloud.ab", owner: "_c"), zone: "d")
                != sealer.scope(database(container: "iCloud.a", owner: "b_c"), zone: "d"))
    }

    @Test("another server's token is not ours") func otherKey() {
        let other = TokenSealer(key: Array(repeating: 8, count: 32))
        let scope = sealer.scope(database(), zone: "Notes")
        #expect(throws: ServiceError.self) {
            try other.open(sealer.seal(token, scope: scope), kind: .zone, scope: scope)
        }
    }
}
