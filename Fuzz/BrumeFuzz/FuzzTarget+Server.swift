internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeStore

extension FuzzTarget {
    /// The only tokens that were ever made with the key, one of each version, and the only position: nothing else
    /// opens.
    static let tokens = FuzzTarget(
        name: "tokens",
        run: { bytes in
            let sealer = TokenSealer(key: [UInt8](repeating: 7, count: 32))
            for kind in [ChangeToken.Kind.zone, .database] {
                do throws(ServiceError) {
                    guard try sealer.open(Array(bytes), kind: kind, scope: tokenScope(sealer)) != nil else {
                        precondition(bytes.isEmpty, "a token was taken for none")
                        continue
                    }
                    let isIssued = [issuedToken(sealer), versionThreeToken, versionTwoToken, versionOneToken]
                        .contains(Array(bytes))
                    precondition(isIssued && kind == .zone, "a forged token opened")
                } catch {
                    precondition(
                        error.code == .invalidArguments || error.code == .changeTokenExpired,
                        "a token was refused with another error than the two that it may be")
                }
            }
            let positions = PositionSealer(key: [UInt8](repeating: 7, count: 32))
            let position = try? positions.open(Array(bytes), scope: tokenScope(sealer))
            precondition(
                position == nil || position == issuedPosition && Array(bytes) == sealedPosition(positions, sealer),
                "a forged position opened")
        },
        seeds: {
            [
                issuedToken(TokenSealer(key: [UInt8](repeating: 7, count: 32))), versionOneToken,
                sealedPosition(
                    PositionSealer(key: [UInt8](repeating: 7, count: 32)),
                    TokenSealer(key: [UInt8](repeating: 7, count: 32))),
                [UInt8](repeating: 1, count: 46), versionTwoToken, versionThreeToken,
            ]
        })

    private static let versionOneToken: [UInt8] = [
        1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 48,
        0, 4, 97, 33, 59, 215, 181, 8, 211, 207, 8, 85, 82, 245, 185, 129, 219, 176, 202, 189,
        59, 96, 68, 216, 151, 135,
    ]

    private static let versionTwoToken: [UInt8] = [
        2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 48,
        0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 97, 33, 59, 215, 181, 8, 211, 207, 214, 68,
        44, 47, 124, 241, 91, 30, 243, 162, 114, 160, 62, 254, 42, 64,
    ]

    private static let versionThreeToken: [UInt8] = [
        3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 48,
        0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 97, 33,
        59, 215, 181, 8, 211, 207, 185, 236, 82, 88, 248, 238, 232, 255, 12, 30, 73, 15, 125, 185,
        77, 216,
    ]

    private static func tokenScope(_ sealer: TokenSealer) -> [UInt8] {
        sealer.scope(FuzzSamples.database, zone: FuzzSamples.zone.name)
    }

    private static func issuedToken(_ sealer: TokenSealer) -> [UInt8] {
        sealer.seal(
            ChangeToken(kind: .zone, epoch: 1, incarnation: 2, position: ChangePosition(sequence: 3, index: 4)),
            scope: tokenScope(sealer))
    }

    /// The only position that was ever made with the key.
    private static var issuedPosition: StreamPosition {
        var position = StreamPosition()
        position[.privateDatabase] = StreamPosition.Place(run: 1, position: ChangePosition(sequence: 3, index: 4))
        return position
    }

    private static func sealedPosition(_ positions: PositionSealer, _ sealer: TokenSealer) -> [UInt8] {
        positions.seal(issuedPosition, scope: tokenScope(sealer))
    }

    /// The only cursor that was ever made with the key: nothing else opens. Behind the seal, a place is read or
    /// refused.
    static let cursors = FuzzTarget(
        name: "cursors",
        run: { bytes in
            let sealer = CursorSealer(key: [UInt8](repeating: 7, count: 32))
            let binding = sealer.binding(FuzzSamples.database, zone: nil, caller: "_u", query: [1])
            do throws(ServiceError) {
                let place = try sealer.open(Array(bytes), binding: binding)
                let isIssued = Array(bytes) == sealer.seal(issuedPlace, binding: binding)
                precondition(place == nil ? bytes.isEmpty : isIssued, "a forged cursor opened")
            } catch {
                precondition(error.code == .invalidArguments, "a cursor was refused with another error")
            }
            guard let place = CursorSealer.decode(bytes) else { return }
            precondition(CursorSealer.encode(place) == Array(bytes), "a place is another one after another encoding")
        },
        seeds: {
            let sealer = CursorSealer(key: [UInt8](repeating: 7, count: 32))
            let binding = sealer.binding(FuzzSamples.database, zone: nil, caller: "_u", query: [1])
            return [sealer.seal(issuedPlace, binding: binding), CursorSealer.encode(issuedPlace)]
        })

    private static let issuedPlace = QueryCursor(
        values: [.missing, .int64(-1), .double(0.5), .date(1), .string([0x61]), .bytes([0]), .reference([0x72])],
        created: ChangePosition(sequence: 3, index: 4))

    /// The account file, and its body as if the checksum before it held.
    static let accounts = FuzzTarget(
        name: "accounts",
        run: { bytes in
            _ = try? StoreCoder.decodeAccounts(bytes)
            do throws(StoreError) {
                let accounts = try AccountFile.decode(Array(bytes), path: "accounts")
                let again = try AccountFile.decode(AccountFile.encode(accounts), path: "accounts")
                precondition(again == accounts, "accounts are others after another encoding")
            } catch {
                switch error {
                case .damaged(let damage): precondition(damage.file == "accounts", "damage without its file")
                case .unknownVersion(let file, _): precondition(file == "accounts", "a version without its file")
                case .disk: preconditionFailure("bytes in memory are no disk's")
                }
            }
        },
        seeds: {
            let account = StoredAccount(
                name: "a", email: "e@x", createdMilliseconds: 5, id: [UInt8](repeating: 1, count: 16),
                tokenHashes: [[UInt8](repeating: 7, count: 32)])
            var body: [UInt8] = []
            StoreCoder.encodeAccounts([account], into: &body)
            return [AccountFile.encode([account]), AccountFile.encode([]), body]
        })
}
