import {type GenericSimulator, startGeneric} from '../simulators/generic.ts'

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
