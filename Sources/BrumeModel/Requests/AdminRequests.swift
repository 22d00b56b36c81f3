/// An account as the operator sees it.
package struct Account: Equatable, Sendable {
    package var name: String
    package var email: String
    package var createdMilliseconds: Int64
    /// How many tokens are valid.
    package var tokens: Int
    /// In the container and environment of the request.
    package var userRecordName: String

    package init(name: String, email: String, createdMilliseconds: Int64, tokens: Int, userRecordName: String) {
        self.name = name
        self.email = email
        self.createdMilliseconds = createdMilliseconds
        self.tokens = tokens
        self.userRecordName = userRecordName
    }
}
