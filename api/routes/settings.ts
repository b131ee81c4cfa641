import {z} from 'zod'
import {Settings} from '../../shared/configuration/settings.ts'
import {describeSettings, patchSettings, pauseWriting} from '../../shared/configuration/settings-edit.ts'
import {findRegistryVersion, readAtOnce} from '../../sql/registry.ts'
import {Answer, ByName, registryVersion} from '../answers/common.ts'
import {answerEdit, ofCondition, ofEdit, proposed} from '../config-edit.ts'
import {conditionOf} from '../if-match.ts'
import {connector} from '../params.ts'
import {route} from '../route.ts'

/** The settings of the registry, and `followsCrmRoles`, which is not part of the registry. */
const OrgSettings = Settings.extend({
  followsCrmRoles: z
    .boolean()
    .describe('Whether roles follow the CRM at sign-in: CRM administrators are admins, all others operators; owners stay owners'),
})

const Told = OrgSettings.meta({id: 'OrgSettings', description: 'The settings of an org'})

const SettingsRead = Answer({
  settings: Told,
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration"),
})

const WritingChanged = Answer({
  writing: ByName(
    Answer({paused: z.literal(true).describe('Always true')}),
    'The connections on which writing is paused, by id. Others are omitted',
  ),
  registryVersion,
})

const settingsExample = {
  dateFormat: 'dd.MM.yyyy',
  timezone: 'Europe/Berlin',
  expressionContext: {country: 'DE'},
  aiSamplePolicy: 'masked',
  onEdited: null,
  undo: null,
  followsCrmRoles: true,
}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/config/settings',
    operationId: 'readSettings',
    tag: 'Configuration',
    access: {role: 'operator'},
    summary: 'Read the settings of the org',
    answers: {200: SettingsRead},
    refusals: [],
    example: {answer: {settings: settingsExample, registryVersion: 7}},
    handle: ({db, caller: {org}}) =>
      readAtOnce(db, async tx => {
        const registryVersion = await findRegistryVersion(tx, org)
        return {settings: await describeSettings(tx, org), registryVersion}
      }),
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/settings',
    operationId: 'changeSettings',
    tag: 'Configuration',
    access: {role: 'admin'},
    summary: 'Change settings of the org',
    description: `Omitted values stay. Changing \`followsCrmRoles\` requires the same role as changing members. Staff views can change neither it nor \`embedOrigins\`. ${ofCondition}`,
    answers: {200: Answer({settings: Told, registryVersion})},
    refusals: [...ofEdit, 'ROLE_REQUIRED', 'MEMBERSHIP_GONE', 'IMPERSONATION_REFUSED'],
    example: {body: {timezone: 'Europe/Berlin'}, answer: {settings: settingsExample}},
    query: z.object({proposedBy: proposed}),
    body: OrgSettings.partial(),
    async handle({db, caller, query, body, request}) {
      const {settings, versionReply} = await patchSettings(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({settings}, versionReply)
    },
  }),

  route({
    method: 'patch',
    path: '/orgs/:org/config/writing',
    operationId: 'setWriting',
    tag: 'Connections',
    access: {role: 'admin'},
    summary: 'Pause or resume writing through a connection',
    description: `Runs of the connection pause, and resume automatically when writing resumes. \`connector\` is required only if the org has several connections. ${ofCondition}`,
    answers: {200: WritingChanged},
    refusals: [...ofEdit, 'CONNECTION_NOT_FOUND', 'CONNECTION_REQUIRED'],
    example: {body: {paused: true}, answer: {writing: {con_01k9m0v6f8e2r4t7w3y5z1a2b3: {paused: true}}}},
    query: z.object({connector, proposedBy: proposed}),
    body: z.strictObject({paused: z.boolean().optional().describe('Whether writing is paused. If omitted, nothing changes')}),
    async handle({db, caller, query, body, request}) {
      const {registry, versionReply} = await pauseWriting(db, caller, {condition: conditionOf(request), ...query}, body)
      return answerEdit({writing: registry.writing}, versionReply)
    },
  }),
]
