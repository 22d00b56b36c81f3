internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol
internal import Foundation

/// What a container and its databases share: the account that they have at the moment, with the session that the first
/// call opens.
final class ContainerCore: Sendable {
    /// As the container was made; its account may have changed since.
    let madeWith: BrumeConfiguration
    let announcer: AccountAnnouncer
    private let current: Lock<AccountBinding>

    init(
        configuration: BrumeConfiguration, transport: Result<any ClientTransport, TransportFailure>,
        registry: SessionRegistry
    ) {
        madeWith = configuration
        announcer = AccountAnnouncer()
        current = Lock(
            AccountBinding(
                configuration: configuration, transport: transport, registry: registry, announcer: announcer))
    }

    /// The same place for one account alone: see ``CKDatabase/boundToAccount``.
    init(boundTo account: AccountBinding, of core: ContainerCore) {
        madeWith = core.madeWith
        announcer = core.announcer
        current = Lock(account)
    }

    /// The account that calls which begin now are for.
    var account: AccountBinding { current.withLock { $0 } }

    var configuration: BrumeConfiguration { account.configuration }

    func boundToAccount() -> ContainerCore { ContainerCore(boundTo: account, of: self) }

    /// From now on calls are for the account of another token, or for none; those under way end.
    ///
    /// Does nothing when the token is the one that it was.
    func switchAccount(token: String?) {
        let switched: (before: AccountBinding, after: AccountBinding)? = current.withLock { account in
            guard account.configuration.token != token else { return nil }
            let before = account
            account = before.successor(token: token)
            return (before, account)
        }
        guard let switched else { return }
        switched.before.end()
        announcer.announce(.switched(switched.after))
    }

    func openSession() throws(CKError) -> ClientSession { try account.openSession() }

    /// Sends a request and decodes its answer, both on the calling thread.
    func call<Response>(
        _ method: Method, effect: UnaryCall.Effect = .none, options: CallOptions = CallOptions(),
        encode: (MessageCoder) -> [UInt8],
        decode: (MessageCoder, UnsafeRawBufferPointer) throws(ServiceError) -> Response
    ) async throws(CKError) -> Response {
        try await account.call(method, effect: effect, options: options, encode: encode, decode: decode)
    }

    /// 16 bytes that name an operation, so that it has one effect however often it is sent.
    static func newOperationID() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
