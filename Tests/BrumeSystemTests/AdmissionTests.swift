import Testing

@testable import BrumeSystem

@Suite struct AdmissionTests {
    private final class Peer {
        let name: String
        init(_ name: String) { self.name = name }
    }

    private func network(_ host: String) throws -> PeerNetwork {
        switch NameResolver.resolve(host: host, port: 1, isNumeric: true, isPassive: false) {
        case .addresses(let addresses): return PeerNetwork(try #require(addresses.first))
        case .failed(let message):
            Issue.record("\(host): \(message)")
            return .local
        }
    }

    @Test("an IPv6 network of 64 bits is one peer, and an IPv4 address is the same through both protocols")
    func networks() throws {
        #expect(try network("2001:db8::1") == network("2001:db8::ffff:1:2:3"))
        #expect(try network("2001:db8::1") != network("2001:db8:0:1::1"))
        #expect(try network("192.0.2.1") != network("192.0.2.2"))
        #expect(try network("::ffff:192.0.2.1") == network("192.0.2.1"))
        #expect(try network("::1") != network("0.0.0.0"))
    }

    @Test("handshakes that wait are taken network by network, whatever one network has sent")
    func fairHandshakes() throws {
        let (loud, quiet) = (try network("192.0.2.1"), try network("192.0.2.2"))
        var queue = HandshakeQueue<Peer>()
        let peers = (0..<100).map { Peer("loud \($0)") }
        for peer in peers { queue.append(peer, of: loud) }
        queue.append(Peer("quiet"), of: quiet)
        #expect(queue.next()?.name == "loud 0")
        #expect(queue.next()?.name == "quiet")
        #expect(queue.next()?.name == "loud 1")
        queue.remove(peers[2], of: loud)
        #expect(queue.next()?.name == "loud 3")
        for peer in peers[4...] { queue.remove(peer, of: loud) }
        #expect(queue.isEmpty)
        #expect(queue.next() == nil)
    }

    @Test("of too many opening connections one of the largest network's is the first to go")
    func largestNetworkGivesWay() throws {
        let (loud, quiet) = (try network("192.0.2.1"), try network("192.0.2.2"))
        var opening = OpeningConnections<Peer>()
        opening.append(Peer("quiet"), of: quiet, nowNanoseconds: 1)
        let peers = (0..<3).map { Peer("loud \($0)") }
        for (index, peer) in peers.enumerated() { opening.append(peer, of: loud, nowNanoseconds: UInt64(2 + index)) }
        #expect(opening.count == 4)
        #expect(opening.oldestOfLargest?.element.name == "loud 0")
        opening.remove(peers[0], of: loud)
        opening.remove(peers[1], of: loud)
        #expect(opening.oldestOfLargest?.element.name == "quiet")
        #expect(opening.oldest(of: loud)?.element.name == "loud 2")
    }

    @Test(
        "an address has as many connections without an account as it may; an account, and the end, leave their places")
    func placesOfAddress() throws {
        var limits = ConnectionLimits()
        limits.connectionsPerAddressMax = 3
        limits.handshakesPerAddressMax = 2
        limits.connectionsMax = 6
        let admission = ConnectionAdmission(limits: limits)
        let (loud, quiet) = (try network("192.0.2.1"), try network("192.0.2.2"))
        func refusal(_ network: PeerNetwork) -> ConnectionAdmission.Refusal? {
            switch admission.admit(network) {
            case .success(let place):
                place.ended()
                return nil
            case .failure(let error): return error.refusal
            }
        }
        var places = [try admission.admit(loud).get(), try admission.admit(loud).get()]
        #expect(refusal(loud) == .opening)
        #expect(refusal(quiet) == nil)
        for place in places { place.opened(hasAccount: false) }
        places.append(try admission.admit(loud).get())
        #expect(refusal(loud) == .address)
        places[2].opened(hasAccount: true)
        places.append(try admission.admit(loud).get())
        #expect(refusal(loud) == .address)
        places[0].ended()
        places[0].ended()
        #expect(refusal(loud) == nil)
        #expect(admission.count == 3)
        for _ in 0..<3 {
            places.append(try admission.admit(quiet).get())
            places.last?.opened(hasAccount: true)
        }
        #expect(refusal(quiet) == .full)
        for place in places { place.ended() }
        #expect(admission.count == 0)
    }

    @Test("a turn of a loop does one handshake where one takes all of its time, and the others come in later turns")
    func handshakesTakeTurns() throws {
        var limits = ConnectionLimits()
        limits.handshakeSliceNanoseconds = 0
        let turns = Shared<[UInt64]>([])
        let count = 24
        let isDone = Signal()
        let server = try TestListener(limits: limits) { connection in
            let delegate = TestDelegate()
            delegate.established = { connection in
                turns.change { $0.append(connection.loop.turnNumber) }
                if turns.value.count == count { isDone.raise() }
            }
            return delegate
        }
        for _ in 0..<count { try server.connect(TestDelegate()) }
        #expect(isDone.wait())
        #expect(Set(turns.value).count == count, "two handshakes ended in one turn")
    }

    @Test("a process may have as many descriptors as the kernel lets it, and counts those that it has")
    func descriptors() throws {
        #expect(Descriptors.raiseLimit() == Descriptors.limit)
        #expect(Descriptors.limit > 0)
        let before = Descriptors.open
        #expect(before > 0)
    }
}
