import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

@Suite("Canaries", .timeLimit(.minutes(4)))
struct CanaryTests {
    typealias Method = HostileRequests.Method

    /// One account, its connection, and the words that must not leave it.
    private struct Tenant {
        let name: String
        let token: String
        let peer: FrameClient
        let userRecordName: String
        let canary: String
        var changeTokens: [[UInt8]] = []

        /// Everything that is this tenant's alone.
        var secrets: [[UInt8]] { [Array(canary.utf8), Array(token.utf8), Array(userRecordName.utf8)] + changeTokens }
    }

    @Test("no byte of one account reaches another, by any method, with any id")
    func isolation() async throws {
        try await RunningServer.running { server in
            var tenants: [Tenant] = []
            for (index, canary) in ["canaryQxVbnAlpha", "canaryZwTmkBravo"].enumerated() {
                // The account's name and address hold the canary too.
                let token = try server.addAccount(canary, email: "\(canary)@example.com")
                let peer = try await FrameClient.welcomed(server, token: token, device: UInt8(index + 1))
                let userRecordName = peer.userRecordName
                tenants.append(
                    Tenant(name: canary, token: token, peer: peer, userRecordName: userRecordName, canary: canary))
            }
            for tenant in tenants { try await tenant.peer.openNotifications() }

            for index in tenants.indices {
                let tenant = tenants[index]
                let zone = HostileRequests.zone("Zone" + tenant.canary)
                try await tenant.peer.makeZone("Zone" + tenant.canary)
                _ = try await tenant.peer.succeed(
                    Method.subscriptionsModify,
                    HostileRequests.saveZoneSubscription(id: "subscription" + tenant.canary, zone: zone))
                let save = HostileRequests.save(
                    "record" + tenant.canary, type: "Type" + tenant.canary,
                    fields: [HostileRequests.field("key" + tenant.canary, text: Array(tenant.canary.utf8))])
                try await tenant.peer.take(HostileRequests.modifyRecords(zone: zone, [save]))
                let page = try await tenant.peer.succeed(Method.recordsChanges, HostileRequests.changes(zone: zone))
                let databasePage = try await tenant.peer.succeed(
                    Method.databasesChanges, HostileRequests.databaseChanges())
                tenants[index].changeTokens = [page.bytes(3), databasePage.bytes(3)]
            }

            // Each asks with every id of the other, whole and as its own.
            for (asker, owner) in [(tenants[0], tenants[1]), (tenants[1], tenants[0])] {
                for ownerName in ["", owner.userRecordName, "__defaultOwner__"] {
                    let zone = HostileRequests.zone("Zone" + owner.canary, owner: ownerName)
                    let own = HostileRequests.zone("Zone" + asker.canary)
                    let record = "record" + owner.canary
                    for (method, request) in [
                        (Method.zonesList, ProtobufField.encode([.varint(1, 2)])),
                        (Method.zonesList, ProtobufField.encode([.varint(1, 1)])),
                        (Method.zonesFetch, ProtobufField.encode([.varint(1, 2), .message(2, zone)])),
                        (Method.recordsFetch, HostileRequests.fetch(zone: zone, names: [record])),
                        (Method.recordsFetch, HostileRequests.fetch(zone: own, names: [record])),
                        (Method.recordsModify, HostileRequests.modifyRecords(zone: own, [.text(3, record)])),
                        (Method.recordsChanges, HostileRequests.changes(zone: zone)),
                        (Method.recordsChanges, HostileRequests.changes(zone: zone, token: owner.changeTokens[0])),
                        (Method.recordsChanges, HostileRequests.changes(zone: own, token: owner.changeTokens[0])),
                        (Method.databasesChanges, HostileRequests.databaseChanges()),
                        (Method.databasesChanges, HostileRequests.databaseChanges(token: owner.changeTokens[1])),
                        (Method.subscriptionsList, ProtobufField.encode([.varint(1, 2)])),
                        (
                            Method.subscriptionsFetch,
                            HostileRequests.fetchSubscriptions(ids: ["subscription" + owner.canary])
                        ),
                        (Method.adminListAccounts, []),
                    ] {
                        let asked = ProtobufField.encode([.raw(request)])
                        let before = asker.peer.receivedBytes.count
                        _ = try await asker.peer.call(method, request)
                        let answer = Array(asker.peer.receivedBytes.dropFirst(before))
                        // An answer may name what was asked for, never more than that.
                        for secret in owner.secrets where !asked.containsBytes(secret) {
                            #expect(!answer.containsBytes(secret), "method \(method) tells of the other account")
                        }
                    }
                }
            }

            // One goes on writing; the other's stream and connection hear nothing of it.
            let quietBefore = tenants[1].peer.receivedBytes.count
            for round in 0..<10 {
                try await tenants[0].peer.mustSave(
                    "more\(round)" + tenants[0].canary, in: HostileRequests.zone("Zone" + tenants[0].canary))
            }
            _ = try await tenants[1].peer.succeed(Method.healthCheck, [])
            let heard = Array(tenants[1].peer.receivedBytes.dropFirst(quietBefore))
            for secret in tenants[0].secrets { #expect(!heard.containsBytes(secret)) }

            // And a peer without an account hears nothing of either.
            let anonymous = try await FrameClient.welcomed(server, token: nil, device: 99)
            for tenant in tenants {
                for method in [Method.zonesList, Method.subscriptionsList, Method.databasesChanges] {
                    _ = try await anonymous.call(method, ProtobufField.encode([.varint(1, 2)]))
                    _ = try await anonymous.call(method, ProtobufField.encode([.varint(1, 1)]))
                }
                for secret in tenant.secrets { #expect(!anonymous.receivedBytes.containsBytes(secret)) }
            }

            // Tokens, records and fields stay out of the log as well.
            for tenant in tenants {
                #expect(!server.log.text.contains(tenant.token))
                #expect(!server.log.text.contains("record" + tenant.canary))
                #expect(!server.log.text.contains("key" + tenant.canary))
            }
        }
    }
}

extension [UInt8] {
    /// Whether `needle` stands somewhere in the bytes.
    func containsBytes(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first, count >= needle.count else { return false }
        for start in 0...(count - needle.count) where self[start] == first {
            if self[start..<start + needle.count].elementsEqual(needle) { return true }
        }
        return false
    }
}
