import BrumeModel

@testable import BrumeServer
@testable import BrumeService

/// A door that writes down what its client's calls end with.
final class RecordingDoor: ClientDoor {
    private(set) var outcomes: [UInt32: Outcome] = [:]
    /// How many more events may be sent.
    var credit = 0
    private(set) var sent: [StreamEvent] = []

    func finish(_ call: UInt32, _ outcome: Outcome) { outcomes[call] = outcome }
    func refuse(_ call: UInt32, _ error: ServiceError) { outcomes[call] = .failure(error) }
    func end(_ reason: ServiceError?) {}
    func resumeIfPossible() {}
    func turnCame() {}
    func maySend(_ call: UInt32) -> Bool { credit > 0 }

    func send(_ call: UInt32, _ event: StreamEvent) {
        credit -= 1
        sent.append(event)
    }

    func send(_ call: UInt32, _ event: UploadEvent) {}
    func send(_ call: UInt32, _ event: DownloadEvent) {}
    func maySendRun(_ call: UInt32, atLeast credit: StreamCredit) -> Bool { false }
    func send(_ call: UInt32, _ run: StreamRun) -> Bool { false }
    func processed(_ call: UInt32, _ credit: StreamCredit) {}
    func succeed(_ call: UInt32) {}
}
