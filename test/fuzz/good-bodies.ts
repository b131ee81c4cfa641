import {type Ids, manifestOf, nightly} from '../support/filled-org.ts'
import {accounts} from '../support/importing.ts'
import {leadsTemplate} from '../support/templates.ts'

/** Returns valid bodies for an org made by `fillOrg`, for routes whose schema and example do not give one. */
export const goodBodies = (ids: Ids): Record<string, unknown> => ({
  'put /orgs/:org/imports/:id/flows': [{id: 'f', sourceId: ids.sources, ...accounts}],
  'put /orgs/:org/imports/:id/slots': {leads: ids.sources},
  'post /orgs/:org/templates': leadsTemplate({name: 'Of the fuzz'}),
  'put /orgs/:org/templates/:id': leadsTemplate(),
  'post /orgs/:org/templates/:id/schedules': nightly(),
  'put /orgs/:org/templates/:id/schedules/:schedule': nightly(),
  'put /orgs/:org/libraries/:namespace': {manifest: manifestOf(ids.libraries!), source: 'export const one = () => 1'},
  'post /orgs/:org/connectors/:id/records/:module': {
    runId: ids.authorised,
    items: [{rowKey: 'r2', payload: {Account_Name: 'Written'}}],
  },
  'put /orgs/:org/connectors/:id/records/:module': {
    runId: ids.authorised,
    items: [{rowKey: 'r3', recordId: ids.records, payload: {Billing_City: 'Bern'}}],
  },
  'patch /orgs/:org/members/:id': {role: 'operator'},
})
