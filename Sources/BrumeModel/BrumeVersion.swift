/// The version of the server, the command line and the SDK, which are released together: see CHANGELOG.md.
package enum BrumeVersion {
    package static let text = "0.2.0"
}
