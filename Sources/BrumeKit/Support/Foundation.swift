// Apple's CloudKit re-exports Foundation, and code written against it relies on that.
@_exported public import Foundation
