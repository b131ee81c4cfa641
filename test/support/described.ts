import {type GenericSimulator, startGeneric} from '../simulators/generic.ts'
import {type Org, ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Starts a stand-in of the REST destination that `describeContacts` describes. */
export const startContacts = ({auth}: {auth?: {header: string; value: string}} = {}) =>
  startGeneric({collections: {'/v1/contacts': {idField: 'contact_id', unique: ['email']}}, ...(auth && {auth})})

export const contactsPath = '/v1/contacts'

export const describeContacts = ({url}: Pick<GenericSimulator, 'url'>, more: object = {}) => ({
  baseUrl: `${url}/v1`,
  modules: [
    {
      apiName: 'Contacts',
      label: 'Contacts',
      path: '/contacts',
      idField: 'contact_id',
      displayField: 'name',
      fields: [
        {apiName: 'name', label: 'Name', type: 'text', length: 50, required: true},
        {apiName: 'email', label: 'E-mail', type: 'email', unique: true},
        {apiName: 'stage', label: 'Stage', type: 'picklist', picklist: ['lead', 'customer']},
        {apiName: 'score', label: 'Score', type: 'integer', readOnly: true},
      ],
    },
  ],
  ...more,
})

/** Creates an org with the generic connection that `document` describes, and runs a discovery. */
export const openContacts = async (world: TestDeployment, document: object): Promise<Org> => {
  const {org, token: session} = await world.makeOrg()
  const call = world.as(session)
  const {connector} = await ok(call('POST', `/orgs/${org}/connectors`, {kind: 'generic', name: 'Plain', document}), 201)
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector.id}, {prefer: 'wait=30'}), 200)
  return {call, org, connector: connector.id, session}
}

export const column = (field: string) => ({field, mode: 'column', source: field})
export const match = {by: ['email'], onOne: 'update', onMany: 'skip', unchanged: 'write'}
