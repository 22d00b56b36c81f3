import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Testing

/// A client whose answers are compared as bytes, and that keeps every byte that it was sent.
final class FrameWatcher {
    let server: SteppedServer
    let peer: FramePeer
    private let coder = MessageCoder()
    /// All that came since the connection was made, and what it is the answer to; nothing for what comes by itself.
    private(set) var received: [(asked: [UInt8], bytes: [UInt8])] = []

    init(_ server: SteppedServer, account: String, device: UInt8 = 9) throws {
        self.server = server
        peer = try server.connect(account: account, device: device)
    }

    var user: String { peer.user }

    /// Keeps what came since the last time.
    ///
    /// - Parameter asked: The request of a stream.
    @discardableResult
    func take(_ asked: [UInt8] = [], stream: UInt32? = nil) -> [ReceivedFrame] {
        let frames = peer.takeFrames()
        received += frames.map { ($0.stream == stream ? asked : [], $0.payload) }
        return frames
    }

    /// What a call is answered with: the frames of its stream, each behind its type.
    @discardableResult
    func ask(_ method: BrumeProtocol.Method, _ request: [UInt8]) -> [[UInt8]] {
        let stream = peer.start(method, request)
        server.settle()
        return take(request, stream: stream).filter { $0.stream == stream }.map {
            [UInt8(truncatingIfNeeded: $0.type.rawValue)] + $0.payload
        }
    }

    @discardableResult
    func ask(_ requests: [Request]) -> [[[UInt8]]] { requests.map { ask($0.method, $0.bytes) } }

    /// A request as it is sent.
    struct Request {
        let method: BrumeProtocol.Method
        let bytes: [UInt8]
    }

    // MARK: Requests

    func modify(
        _ zones: [ZoneModification<DecodedFields>], policy: SavePolicy = .ifServerRecordUnchanged,
        isAtomic: Bool = true, operation: [UInt8] = [], clientToken: [UInt8] = []
    ) -> Request {
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .shared, savePolicy: policy, isAtomic: isAtomic, operationID: operation, zones: zones,
            clientToken: clientToken)
        return Request(method: .recordsModify, bytes: coder.encodeModifyRecordsRequest(request))
    }

    func fetch(_ zones: [ZoneID], _ names: [String], keys: DesiredKeys? = nil) -> Request {
        let request = FetchRecordsRequest(
            database: .shared, zones: zones.map { .init(zone: $0, names: names) }, desiredKeys: keys)
        return Request(method: .recordsFetch, bytes: coder.encodeFetchRecordsRequest(request))
    }

    func changes(_ zone: ZoneID, since token: [UInt8] = [], limit: Int = 0) -> Request {
        let request = ZoneChangesRequest(database: .shared, zone: zone, token: token, resultsLimit: limit)
        return Request(method: .recordsChanges, bytes: coder.encodeZoneChangesRequest(request))
    }

    func query(
        _ zone: ZoneID?, _ type: String = "Note", _ predicate: Predicate = .constant(true), cursor: [UInt8] = [],
        limit: Int = 0, explains: Bool = false
    ) -> Request {
        let request = QueryRequest(
            database: .shared, zone: zone, query: Query(recordType: type, predicate: predicate), cursor: cursor,
            resultsLimit: limit)
        return Request(
            method: explains ? .recordsExplain : .recordsQuery, bytes: coder.encodeQueryRequest(request))
    }

    func zones(_ zones: [ZoneID]) -> Request {
        Request(method: .zonesFetch, bytes: coder.encodeFetchZonesRequest(database: .shared, zones: zones))
    }

    func modifyZones(saves: [ZoneID] = [], deletions: [ZoneID] = []) -> Request {
        let request = ModifyZonesRequest(database: .shared, saves: saves, deletions: deletions)
        return Request(method: .zonesModify, bytes: coder.encodeModifyZonesRequest(request))
    }

    var listZones: Request { Request(method: .zonesList, bytes: coder.encodeListZonesRequest(.shared)) }

    func databaseChanges(since token: [UInt8] = []) -> Request {
        let request = DatabaseChangesRequest(database: .shared, token: token, resultsLimit: 0)
        return Request(method: .databasesChanges, bytes: coder.encodeDatabaseChangesRequest(request))
    }

    func metadata(_ url: String) -> Request {
        let request = ShareMetadataRequest(url: url, wantsRoot: true)
        return Request(method: .sharesMetadata, bytes: coder.encodeShareMetadataRequest(request))
    }

    func accept(_ url: String) -> Request {
        Request(method: .sharesAccept, bytes: coder.encodeAcceptShareRequest(url: url))
    }

    func requestAccess(_ url: String) -> Request {
        Request(method: .sharesRequestAccess, bytes: coder.encodeRequestAccessRequest(url: url))
    }
}

/// Compares answers to the same requests.
func expectSame(_ answers: [[[UInt8]]], _ expected: [[[UInt8]]], _ comment: String) {
    #expect(answers.count == expected.count)
    for (index, (answer, expected)) in zip(answers, expected).enumerated() {
        #expect(answer == expected && !answer.isEmpty, "\(comment), request \(index)")
    }
}
