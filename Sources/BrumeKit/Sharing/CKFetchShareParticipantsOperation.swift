/// Looks users up, to be added to a share.
///
/// Differs from CloudKit: the server has no sharing yet, so each item, and the operation, fails with
/// `serverRejectedRequest`.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    private struct Parameters {
        var items: [CKUserIdentity.LookupInfo]?
        var each: ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
        var ended: ((Result<Void, any Error>) -> Void)?
        var oldEach: ((CKShare.Participant) -> Void)?
        var oldEnd: (((any Error)?) -> Void)?
    }

    private let parameters = Guarded(Parameters())

    /// An operation that looks the given users up.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        parameters.items = userIdentityLookupInfos
    }

    /// What the operation is about.
    public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]? {
        get { parameters.items }
        set { parameters.items = newValue }
    }

    /// Called once for each item, with the failure.
    public var perShareParticipantResultBlock:
        (
            (_ lookupInfo: CKUserIdentity.LookupInfo, _ participantResult: Result<CKShare.Participant, any Error>) ->
                Void
        )?
    {
        get { parameters.each }
        set { parameters.each = newValue }
    }

    /// Called last.
    public var fetchShareParticipantsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { parameters.ended }
        set { parameters.ended = newValue }
    }

    /// Called for each participant that was found, which is none.
    @available(*, deprecated, message: "Use perShareParticipantResultBlock")
    public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? {
        get { parameters.oldEach }
        set { parameters.oldEach = newValue }
    }

    /// Called last.
    @available(*, deprecated, message: "Use fetchShareParticipantsResultBlock")
    public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? {
        get { parameters.oldEnd }
        set { parameters.oldEnd = newValue }
    }

    override func execute(_ run: OperationRun) async {
        let failure = await run.attempt { () throws(CKError) in throw CKError.noSharing }!
        for item in parameters.items ?? [] {
            parameters.each?(item, .failure(failure))
        }
        if let block = parameters.ended {
            block(.failure(failure))
        } else {
            parameters.oldEnd?(failure)
        }
    }
}
