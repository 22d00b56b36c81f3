import BrumeModel
import BrumeProtocol
import Testing

@testable import BrumeServer
@testable import BrumeService

@Suite("Frames that devices share")
struct RunSealerTests {
    private static func place(_ sequence: UInt64) -> StreamPosition.Place {
        StreamPosition.Place(run: 7, position: ChangePosition(sequence: sequence, index: 0))
    }

    private static func run(_ sequences: ClosedRange<UInt64>) -> NotificationRun {
        NotificationRun(
            after: ChangePosition(sequence: sequences.lowerBound - 1, index: 0),
            sequences.map {
                NotificationDelivery(place: place($0), message: [UInt8](repeating: UInt8($0), count: Int($0) * 40))
            }, origins: [])
    }

    private static func position(publicPlace: StreamPosition.Place?) -> StreamPosition {
        position(privatePlace: place(1), publicPlace: publicPlace)
    }

    private static func position(
        privatePlace: StreamPosition.Place, publicPlace: StreamPosition.Place?
    ) -> StreamPosition {
        var position = StreamPosition()
        position[.privateDatabase] = privatePlace
        position[.publicDatabase] = publicPlace
        return position
    }

    /// One event after the other, as they leave without a run.
    private static func framesOneByOne(
        _ run: NotificationRun, publicPlace: StreamPosition.Place?, stream: UInt32, scope: [UInt8],
        _ sealer: PositionSealer
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for delivery in run.deliveries {
            let position = position(privatePlace: delivery.place, publicPlace: publicPlace)
            let payload =
                MessageCoder.positionField(sealer.seal(position, scope: scope)) + delivery.message
            var header = [UInt8](repeating: 0, count: FrameHeader.byteCount)
            header.withUnsafeMutableBytes {
                FrameHeader(type: .message, stream: stream, payloadByteCount: payload.count).encode(to: $0)
            }
            bytes += header + payload
        }
        return bytes
    }

    @Test("a run's frames are those of its events one by one, whoever asked before")
    func sameBytes() {
        let sealer = PositionSealer(key: [UInt8](repeating: 3, count: 32))
        let runSealer = RunSealer(sealer)
        let scopes = [[UInt8](repeating: 1, count: 8), [UInt8](repeating: 2, count: 8)]
        // What differs between two neighbours differs in one thing alone, and comes back.
        let askers: [(run: Int, stream: UInt32, publicSequence: UInt64?, scope: Int)] = [
            (0, 1, 5, 0), (0, 1, 5, 0), (0, 3, 5, 0), (0, 1, 5, 0), (0, 1, 6, 0), (0, 1, nil, 0), (0, 1, nil, 1),
            (1, 1, nil, 1), (0, 1, nil, 1), (0, 1, 5, 0),
        ]
        let runs = [Self.run(2...6), Self.run(2...3)]
        for (index, asker) in askers.enumerated() {
            let publicPlace = asker.publicSequence.map(Self.place)
            let run = runSealer.seal(
                runs[asker.run], behind: Self.position(publicPlace: publicPlace), scope: scopes[asker.scope])
            let framed = FramedRun.frames(of: run, stream: asker.stream)
            let expected = Self.framesOneByOne(
                runs[asker.run], publicPlace: publicPlace, stream: asker.stream, scope: scopes[asker.scope], sealer)
            #expect(framed.bytes == expected, "asker \(index)")
            #expect(framed.payloadByteCount == expected.count - run.events.count * FrameHeader.byteCount)
            if index == 5 { runSealer.forget() }
        }
    }

    @Test("neighbours at one place share what was sealed, and those with streams of one number the frames too")
    func sharing() {
        let runSealer = RunSealer(PositionSealer(key: [UInt8](repeating: 3, count: 32)))
        let scope = [UInt8](repeating: 1, count: 8)
        let run = Self.run(2...3)
        let first = runSealer.seal(run, behind: Self.position(publicPlace: nil), scope: scope)
        #expect(runSealer.seal(run, behind: Self.position(publicPlace: nil), scope: scope) === first)
        let frames = FramedRun.frames(of: first, stream: 1)
        #expect(FramedRun.frames(of: first, stream: 1) === frames)
        #expect(FramedRun.frames(of: first, stream: 2) !== frames)
        #expect(runSealer.seal(run, behind: Self.position(publicPlace: Self.place(9)), scope: scope) !== first)
    }
}
