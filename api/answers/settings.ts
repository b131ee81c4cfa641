import {z} from 'zod'
import {Settings} from '../../shared/registry/settings.ts'
import {Answer, ByName, registryVersion} from './common.ts'

/** Who is an admin by the CRM's word is a setting too, and no part of the registry. */
export const OrgSettings = Settings.extend({
  followsCrmRoles: z
    .boolean()
    .describe(
      'Whether a sign-in takes the role from the CRM: its administrators are admins, everybody else is an operator; owners stay owners',
    ),
})

const Told = OrgSettings.meta({id: 'OrgSettings', description: 'The settings of an org'})

export const SettingsRead = Answer({
  settings: Told,
  registryVersion: z.int().nonnegative().describe("The version of the org's configuration that says so"),
})

export const SettingsChanged = Answer({settings: Told, registryVersion})

export const WritingChanged = Answer({
  writing: ByName(
    Answer({paused: z.literal(true).describe('Always true')}),
    'By id: the connections on which writing is paused now. The others are not named',
  ),
  registryVersion,
})

export const settingsExample = {
  ...{dateFormat: 'dd.MM.yyyy', timezone: 'Europe/Berlin', expressionContext: {country: 'DE'}, aiSamplePolicy: 'masked'},
  followsCrmRoles: true,
}
