import type {Role} from '../shared/people/roles.ts'

/**
 * Who may do what, written down a second time and from the specification, not from the routes: `test/access.test.ts` holds every route
 * against its row here, and a route without a row fails. `person`: acts for the very person who signed in. `anyOrg`: also for sessions
 * in no org and for members of a closed one.
 */
export type Row =
  | {who: 'everybody'}
  | {who: Role; effect: 'read' | 'write' | 'money' | 'publisher'; person?: true; session?: true; anyOrg?: true}
  | {who: 'staff'; session?: true}
  | {who: 'operator with ADMIN_TOKEN'}

const read = (who: Role): Row => ({who, effect: 'read'})
const write = (who: Role): Row => ({who, effect: 'write'})
const everybody: Row = {who: 'everybody'}
const staff: Row = {who: 'staff'}
const adminToken: Row = {who: 'operator with ADMIN_TOKEN'}

export const rows: Record<string, Row> = {
  'GET /health': everybody,
  'GET /robots.txt': everybody,
  'GET /auth/zoho/start': everybody,
  'GET /auth/zoho/callback': everybody,
  'POST /auth/session/refresh': {who: 'operator', effect: 'write', person: true, anyOrg: true},
  'GET /auth/me': {who: 'operator', effect: 'read', anyOrg: true},
  'GET /auth/invitations': {who: 'operator', effect: 'read', anyOrg: true},
  'POST /auth/invitations/:id/accept': {who: 'operator', effect: 'write', person: true, anyOrg: true},
  'POST /auth/orgs/:org/connect': write('admin'),
  'GET /auth/orgs/:org/connection': read('admin'),

  'GET /orgs/:org': read('operator'),
  'PUT /orgs/:org/production': write('owner'),
  'GET /orgs/:org/members': read('operator'),
  'PATCH /orgs/:org/members/:id': write('admin'),
  'DELETE /orgs/:org/members/:id': write('admin'),
  'GET /orgs/:org/invitations': read('admin'),
  'POST /orgs/:org/invitations': write('admin'),
  'DELETE /orgs/:org/invitations/:id': write('admin'),
  'GET /orgs/:org/tokens': read('admin'),
  'POST /orgs/:org/tokens': {who: 'admin', effect: 'write', person: true},
  'DELETE /orgs/:org/tokens/:id': {who: 'admin', effect: 'write', person: true},
  'GET /orgs/:org/jobs/:id': read('operator'),

  'GET /orgs/:org/connectors': read('operator'),
  'POST /orgs/:org/connectors': write('admin'),
  'PATCH /orgs/:org/connectors/:id': write('admin'),
  'DELETE /orgs/:org/connectors/:id': write('admin'),
  'GET /orgs/:org/connectors/:id/credits': read('operator'),
  'POST /orgs/:org/connectors/:id/credits/check': write('operator'),
  'PUT /orgs/:org/connectors/:id/records/:module/rows': write('operator'),
  'GET /orgs/:org/connectors/:id/records/:module/by-ids': read('operator'),
  'GET /orgs/:org/connectors/:id/records/:module/word-search': read('operator'),
  'GET /orgs/:org/connectors/:id/records/:module/search': read('operator'),
  'GET /orgs/:org/connectors/:id/records/:module/:recordId': read('operator'),
  'POST /orgs/:org/connectors/:id/records/:module': write('operator'),
  'PUT /orgs/:org/connectors/:id/records/:module': write('operator'),
  'GET /orgs/:org/writes/:id': read('operator'),
  'POST /orgs/:org/connectors/:id/records/:module/:recordId/made': write('operator'),
  'GET /orgs/:org/libraries': read('operator'),
  'GET /orgs/:org/libraries/:namespace': read('operator'),
  'PUT /orgs/:org/libraries/:namespace': write('admin'),
  'DELETE /orgs/:org/libraries/:namespace': write('admin'),
  'GET /orgs/:org/libraries/:namespace/versions': read('operator'),
  'POST /orgs/:org/libraries/:namespace/versions/:version/restore': write('admin'),
  'PUT /orgs/:org/libraries/:namespace/management': {who: 'admin', effect: 'write', session: true},
  'POST /orgs/:org/discovery/run': write('admin'),
  'GET /orgs/:org/discovery/latest': read('operator'),

  'GET /orgs/:org/config/resolved': read('operator'),
  'GET /orgs/:org/config/registry': read('operator'),
  'PUT /orgs/:org/config/registry': write('admin'),
  'GET /orgs/:org/config/modules': read('operator'),
  'PUT /orgs/:org/config/modules/order': write('admin'),
  'PATCH /orgs/:org/config/modules/:module': write('admin'),
  'GET /orgs/:org/config/fields/:module': read('operator'),
  'PATCH /orgs/:org/config/fields/:module/:apiName': write('admin'),
  'PUT /orgs/:org/config/fields/:module/annotations': write('admin'),
  'GET /orgs/:org/config/settings': read('operator'),
  'PATCH /orgs/:org/config/settings': write('admin'),
  'PATCH /orgs/:org/config/writing': write('admin'),
  'POST /orgs/:org/config/bundle': write('admin'),
  'GET /orgs/:org/config/changes': read('operator'),
  'POST /config/validate/registry': everybody,

  'POST /orgs/:org/imports': write('operator'),
  'GET /orgs/:org/imports': read('operator'),
  'GET /orgs/:org/imports/:id': read('operator'),
  'PUT /orgs/:org/imports/:id/flows': write('operator'),
  'POST /orgs/:org/imports/:id/sources': write('operator'),
  'GET /orgs/:org/imports/:id/sources/:source': read('operator'),
  'PATCH /orgs/:org/imports/:id/sources/:source': write('operator'),
  'DELETE /orgs/:org/imports/:id/sources/:source': write('operator'),
  'GET /orgs/:org/imports/:id/sources/:source/rows': read('operator'),
  'POST /orgs/:org/imports/:id/checks': write('operator'),
  'GET /orgs/:org/imports/:id/checks': read('operator'),
  'POST /entitlements/runs/authorise': write('operator'),
  'POST /entitlements/runs/:runId/lease': write('operator'),
  'POST /entitlements/runs/:runId/entries': write('operator'),
  'POST /entitlements/runs/:runId/progress': write('operator'),
  'GET /orgs/:org/runs/:run': read('operator'),
  'GET /orgs/:org/runs/:run/records': read('operator'),
  'POST /orgs/:org/runs/:run/cancel': write('operator'),
  'POST /orgs/:org/imports/:id/runs': write('operator'),
  'GET /orgs/:org/imports/:id/runs': read('operator'),
  'GET /orgs/:org/imports/:id/runs/:run': read('operator'),
  'POST /orgs/:org/imports/:id/runs/:run/cancel': write('operator'),
  'GET /orgs/:org/imports/:id/runs/:run/records': read('operator'),
  'GET /orgs/:org/imports/:id/runs/:run/events': read('operator'),
  'GET /orgs/:org/imports/:id/runs/:run/questions': read('operator'),
  'POST /orgs/:org/imports/:id/runs/:run/questions': write('operator'),
  'GET /orgs/:org/imports/:id/results.csv': read('operator'),
  'GET /orgs/:org/imports/:id/failed.csv': read('operator'),
  'GET /orgs/:org/imports/:id/plan.csv': read('operator'),

  'GET /staff/people': staff,
  'GET /staff/people/search': staff,
  'GET /staff/actions': staff,
  'POST /staff/people/:id/ban': staff,
  'POST /staff/people/:id/unban': staff,
  'POST /staff/orgs/:org/view': {who: 'staff', session: true},
  'POST /staff/orgs/:org/close': staff,
  'POST /staff/orgs/:org/reopen': staff,
  'GET /staff/orgs/:org/erasure': staff,
  'POST /staff/people': adminToken,
  'DELETE /staff/people/:id': adminToken,
  'POST /staff/people/:id/delete': adminToken,
  'POST /staff/orgs/:org/erase': adminToken,
}
