/** The error codes in use, from RFC 6749, 7591, 8707 and 7009. */
type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'temporarily_unavailable'
  | 'access_denied'

/** An OAuth error, sent to the client as JSON or by redirect. */
export class OAuthRefusal extends Error {
  override name = 'OAuthRefusal'
  readonly code: OAuthCode
  readonly status: number

  constructor(code: OAuthCode, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}
