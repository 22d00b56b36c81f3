internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeSystem

/// Transfers of a session as its door's interceptor wants them.
extension Session {
    /// Whether an interceptor looks at what passes on a stream.
    func isIntercepted(_ stream: UInt32) -> Bool {
        !interceptedCalls.isEmpty && interceptedCalls[stream]?.transfer != nil
    }

    /// Whether something of an intercepted stream is held back.
    func isHeldBack(_ stream: UInt32) -> Bool { interceptedCalls[stream]?.transfer?.isHeldBack ?? false }

    /// Passes something of an intercepted stream, now or when its turn has come.
    func pass(_ parcel: InterceptedTransfer.Parcel, on stream: UInt32) {
        interceptedCalls[stream]?.transfer?.add(parcel)
        passOn(stream)
    }

    /// Passes what may pass. Each parcel may end the call, and with it all that is kept for it.
    func passOn(_ stream: UInt32) {
        while true {
            let hasRoom = hasRoom(toSendOn: stream)
            switch interceptedCalls[stream]?.transfer?.next(hasRoom: hasRoom) ?? .none {
            case .none: return
            case .pass(let parcel): passed(parcel, on: stream)
            case .take(let step): take(step, on: stream)
            }
        }
    }

    private func passed(_ parcel: InterceptedTransfer.Parcel, on stream: UInt32) {
        let transferred = interceptedCalls[stream]?.transfer?.transferred
        switch parcel {
        case .received(let message, let credit):
            if case .content(let bytes) = message { transferred?(.passed(byteCount: bytes.count)) }
            streams[stream]?.received(message, credit)
        case .clientEnded: streams[stream]?.clientEnded()
        case .sentOfUpload(let event):
            if case .offset(let offset) = event { transferred?(.beganUpload(at: offset)) }
            write(event, on: stream)
        case .sentOfDownload(let event):
            if case .content(let bytes) = event { transferred?(.passed(byteCount: bytes.count)) }
            write(event, on: stream)
        case .succeeded: end(stream)
        }
    }

    private func take(_ step: CallPlan.Step, on stream: UInt32) {
        switch step {
        case .goesOn: break
        case .fails(let error): refuse(stream, error)
        case .breaksConnection: breakConnection()
        case .waits(let register):
            interceptedCalls[stream]?.transfer?.isWaiting = true
            let loop = shard.loop
            register { step in
                loop.execute {
                    self.shard.takeTurn(of: self.share.key) { self.goOn(stream, with: step) }
                }
            }
        }
    }

    /// A step that waited has been decided.
    private func goOn(_ stream: UInt32, with step: CallPlan.Step) {
        // The transfer may have ended meanwhile.
        guard isOpen(stream), interceptedCalls[stream]?.transfer?.isWaiting == true else { return }
        interceptedCalls[stream]?.transfer?.isWaiting = false
        switch step {
        case .waits: break
        case .goesOn, .fails, .breaksConnection: take(step, on: stream)
        }
        passOn(stream)
        if isOpen(stream), !isHeldBack(stream) { streams[stream]?.resume() }
    }
}
