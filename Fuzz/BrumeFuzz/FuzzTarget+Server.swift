internal import BrumeModel
internal import BrumeServer
internal import BrumeWire

extension FuzzTarget {
    /// The only tokens that were ever made with the key, one of each version: nothing else opens.
    static let tokens = FuzzTarget(
        name: "tokens",
        run: { bytes in
            let sealer = TokenSealer(key: [UInt8](repeating: 7, count: 32))
            for kind in [ChangeToken.Kind.zone, .database, .notifications] {
                do throws(ServiceError) {
                    guard try sealer.open(Array(bytes), kind: kind, scope: tokenScope(sealer)) != nil else {
                        precondition(bytes.isEmpty, "a token was taken for none")
                        continue
                    }
                    let isIssued = Array(bytes) == issuedToken(sealer) || Array(bytes) == versionOneToken
                    precondition(isIssued && kind == .zone, "a forged token opened")
                } catch {
                    precondition(
                        error.code == .invalidArguments || error.code == .changeTokenExpired,
                        "a token was refused with another error than the two that it may be")
                }
            }
        },
        seeds: {
            [
                issuedToken(TokenSealer(key: [UInt8](repeating: 7, count: 32))), versionOneToken,
                [UInt8](repeating: 1, count: 46),
            ]
        })

    private static let versionOneToken: [UInt8] = [
        1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 48,
        0, 4, 97, 33, 59, 215, 181, 8, 211, 207, 8, 85, 82, 245, 185, 129, 219, 176, 202, 189,
        59, 96, 68, 216, 151, 135,
    ]

    private static func tokenScope(_ sealer: TokenSealer) -> [UInt8] {
        sealer.scope(FuzzSamples.database, zone: FuzzSamples.zone.name)
    }

    private static func issuedToken(_ sealer: TokenSealer) -> [UInt8] {
        sealer.seal(
            ChangeToken(kind: .zone, epoch: 1, incarnation: 2, position: ChangePosition(sequence: 3, index: 4)),
            scope: tokenScope(sealer))
    }

    /// The account file, and its body as if the checksum before it held.
    static let accounts = FuzzTarget(
        name: "accounts",
        run: { bytes in
            _ = try? StoreCoder.decodeAccounts(bytes)
            do throws(ServerError) {
                let accounts = try AccountFile.decode(Array(bytes), path: "accounts")
                let again = try AccountFile.decode(AccountFile.encode(accounts), path: "accounts")
                precondition(again == accounts, "accounts are others after another encoding")
            } catch {
                precondition(error.code == .damaged && error.message.contains("accounts"), "damage without its file")
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
