internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

/// What a door counts on one loop. Belongs to the loop: no lock, no atomic, and no allocation for a call except the
/// first failure of a kind.
struct DoorFigures {
    /// The known methods, in the order of ``methods``.
    private static let known: [Method] = Method.names.keys.sorted { $0.rawValue < $1.rawValue }

    /// The place of each method in ``methods``, by the method's number. The place of an unknown one is ``known``'s
    /// count, and never asked for.
    private static let places: [UInt8] = {
        var places = [UInt8](repeating: UInt8(known.count), count: Int(known.last!.rawValue) + 1)
        for (place, method) in known.enumerated() { places[Int(method.rawValue)] = UInt8(place) }
        return places
    }()

    private var methods = known.map { MethodFigures(method: $0.rawValue, name: $0.name) }
    var refusedCalls: UInt64 = 0
    var acceptedConnections: UInt64 = 0
    var welcomedConnections: UInt64 = 0
    var refusedConnections: UInt64 = 0
    /// Connections that were ended to make room.
    var shedConnections: UInt64 = 0

    /// A call was answered; `failure` is nil when it succeeded.
    mutating func ended(
        _ call: ServerConnectionStateMachine.EndedCall, failure: ErrorCode?, nowNanoseconds: UInt64
    ) {
        let place = Int(Self.places[Int(call.method)])
        methods[place].ended += 1
        if let failure { methods[place].failures[failure, default: 0] += 1 }
        if call.isStreaming { return }
        let took = nowNanoseconds > call.beganNanoseconds ? nowNanoseconds - call.beganNanoseconds : 0
        methods[place].latencyNanoseconds.record(took)
    }

    /// A call was taken back, or its connection is gone.
    mutating func cancelled(method: UInt32) {
        methods[Int(Self.places[Int(method)])].cancelled += 1
    }

    /// Adds all that was counted.
    func add(to figures: inout ServerFigures) {
        figures.methods += methods.filter { $0.ended > 0 || $0.cancelled > 0 }
        figures.refusedCalls += refusedCalls
        figures.connections.accepted += acceptedConnections
        figures.connections.welcomed += welcomedConnections
        figures.connections.refused += refusedConnections
        figures.connections.shed += shedConnections
    }
}
