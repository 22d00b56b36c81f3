import BrumeModel
import BrumeProtocol
import BrumeService
import Testing

@testable import BrumeServer

@Suite("A transfer that an interceptor looks at")
struct InterceptedTransferTests {
    /// What passes of a transfer, in words; a step that waits stays.
    private func pass(_ transfer: inout InterceptedTransfer, hasRoom: Bool = true) -> [String] {
        var words: [String] = []
        while true {
            switch transfer.next(hasRoom: hasRoom) {
            case .none: return words
            case .take(.waits):
                words.append("wait")
                transfer.isWaiting = true
            case .take(.fails): words.append("fail")
            case .take: words.append("step")
            case .pass(.received(.content(let bytes), let credit)):
                words.append("up \(bytes.count) for \(credit.bytes)")
            case .pass(.sentOfDownload(.content(let bytes))): words.append("down \(bytes.count)")
            case .pass(.sentOfDownload(.byteCount)): words.append("size")
            case .pass(.succeeded): words.append("end")
            case .pass: words.append("other")
            }
        }
    }

    private func transfer(_ steps: [TransferStep], afterEffect: CallPlan.Step = .goesOn) -> InterceptedTransfer {
        var plan = CallPlan(afterEffect: afterEffect)
        plan.midway = steps
        return InterceptedTransfer(plan)!
    }

    private let waits = CallPlan.Step.waits { _ in }

    private func content(_ count: Int) -> InterceptedTransfer.Parcel {
        .sentOfDownload(.content(SharedBytes(Array(repeating: 7, count: count))))
    }

    @Test("is none where the plan wants nothing of it")
    func none() {
        #expect(InterceptedTransfer(CallPlan()) == nil)
    }

    @Test("is cut where a step comes, and waits there with all that follows")
    func cut() {
        var download = transfer([TransferStep(at: 15, waits), TransferStep(at: 20, waits)])
        #expect(!download.isHeldBack)
        download.add(.sentOfDownload(.byteCount(30)))
        download.add(content(10))
        #expect(pass(&download) == ["size", "down 10"])
        download.add(content(20))
        download.add(.succeeded)
        #expect(pass(&download) == ["down 5", "wait"])
        #expect(pass(&download) == [] && download.isHeldBack)
        download.isWaiting = false
        #expect(pass(&download) == ["down 5", "wait"])
        download.isWaiting = false
        #expect(pass(&download) == ["down 10", "end"])
        #expect(!download.isHeldBack)
    }

    @Test("counts a message that is cut as processed with its last piece")
    func credit() {
        var upload = transfer([TransferStep(at: 4, waits)])
        upload.add(.received(.content([1, 2, 3, 4, 5, 6]), StreamCredit(messages: 1, bytes: 8)))
        upload.add(.clientEnded)
        #expect(pass(&upload) == ["up 4 for 0", "wait"])
        upload.isWaiting = false
        #expect(pass(&upload) == ["up 2 for 8", "other"])
    }

    @Test("keeps the rest of what was cut until the client has room for it")
    func room() {
        var download = transfer([TransferStep(at: 5, .goesOn)])
        download.add(content(10))
        #expect(pass(&download, hasRoom: false) == [] && download.isHeldBack)
        #expect(pass(&download) == ["down 5", "step", "down 5"])
    }

    @Test("takes a step that is repeated again and again, between those of others")
    func repeated() {
        var download = transfer([
            TransferStep(at: 4, repeatedEvery: 4, .goesOn), TransferStep(at: 6, .fails(ServiceError(.zoneBusy, ""))),
        ])
        download.add(content(13))
        #expect(pass(&download) == ["down 4", "step", "down 2", "fail", "down 2", "step", "down 4", "step", "down 1"])
    }

    @Test("takes the step after its effect before its end, once")
    func afterEffect() {
        var download = transfer([], afterEffect: waits)
        download.add(content(3))
        download.add(.succeeded)
        #expect(pass(&download) == ["down 3", "wait"])
        download.isWaiting = false
        #expect(pass(&download) == ["end"])
    }
}
