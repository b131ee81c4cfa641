import {asObject, type CrmProblem, describeProblem, isTokenRefused} from '../../../shared/crm/error.ts'
import {adviseToContinue} from '../../../shared/runs/stop.ts'
import type {Run} from '../../../sql/runs.ts'
import {RunPaused, RunStopped} from '../run-endings.ts'

/**
 * Statuses and codes that concern the call, never the size or the records of a request. Source:
 * zoho.com/crm/developer/docs/api/v8/status-codes.html.
 */
const callStatuses = [401, 402, 403, 404, 405, 407, 415]
const callCodes = [
  'INVALID_MODULE',
  'AUTHORIZATION_FAILED',
  'NOT_ALLOWED',
  'NOT_SUPPORTED',
  'NO_PERMISSION',
  'OAUTH_SCOPE_MISMATCH',
  'INVALID_REQUEST_METHOD',
  'INVALID_URL_PATTERN',
  'UNABLE_TO_PARSE_DATA_TYPE',
  'REQUIRED_PARAM_MISSING',
  'EXPECTED_PARAM_MISSING',
]

/**
 * Whether the CRM refuses every request like this one. Any other refusal of a whole request may be caused by one of its records, or by its
 * size.
 */
export const isCallRefused = ({status, code}: CrmProblem) => callStatuses.includes(status ?? 0) || callCodes.includes(code ?? '')

const tokenPauseSeconds = 60

/**
 * Returns how a refused call ends the run. A refused token of the CRM may be accepted later, so the run pauses. Any other refusal needs a
 * person, so the run stops.
 */
export const endByRefusal = (crm: CrmProblem, run: Run): RunPaused | RunStopped => {
  const problem = describeProblem(crm)
  if (isTokenRefused(crm) && run.connectorKind !== 'generic') {
    const message = `${problem}. The renewed access token was refused too. The run tries again every minute. Connect the CRM again if this lasts`
    return new RunPaused('CONNECTION_UNAVAILABLE', message, tokenPauseSeconds)
  }
  return new RunStopped({stopped: 'CRM_REFUSED', message: `${problem}. ${remedyOf(crm)}. ${adviseToContinue(run)}`})
}

const remedyOf = ({code, status, details}: CrmProblem) => {
  if (code === 'OAUTH_SCOPE_MISMATCH') return 'The connection lacks a permission scope. Connect the CRM again and accept every scope'
  if (status === 401)
    return 'The destination refuses the secret of this connection. Allow the secret there, or add a new connection with the right secret'
  if (code === 'INVALID_MODULE') return 'Correct this in the CRM. If the module was renamed there, run a discovery'
  const {permissions} = asObject(details) ?? {}
  if (Array.isArray(permissions)) return `Give the connection's CRM user this permission: ${permissions.join(', ')}`
  return status === 403 ? "Give the connection's CRM user the missing permission" : 'Correct this in the CRM'
}
