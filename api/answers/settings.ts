import {z} from 'zod'
import {Settings} from '../../shared/configuration/settings.ts'
import {Answer, ByName, registryVersion} from './common.ts'

/** Adds `followsCrmRoles`, which is a setting but not part of the registry. */
export const OrgSettings = Settings.extend({
  followsCrmRoles: z
    .boolean()
    .describe('Whether roles follow the CRM at sign-in: CRM administrators are admins, all others operators; owners stay owners'),
})

const Told = OrgSettings.meta({id: 'OrgSettings', description: 'The settings of an org'})

export const SettingsRead = Answer({
  settings: Told,
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration"),
})

export const SettingsChanged = Answer({settings: Told, registryVersion})

export const WritingChanged = Answer({
  writing: ByName(
    Answer({paused: z.literal(true).describe('Always true')}),
    'The connections on which writing is paused, by id. Others are omitted',
  ),
  registryVersion,
})

export const settingsExample = {
  dateFormat: 'dd.MM.yyyy',
  timezone: 'Europe/Berlin',
  expressionContext: {country: 'DE'},
  aiSamplePolicy: 'masked',
  onEdited: null,
  undo: null,
  followsCrmRoles: true,
}
