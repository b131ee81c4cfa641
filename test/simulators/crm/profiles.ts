import {type Answer, CallRefused, ok, refuse} from './answers.ts'
import type {Call} from './call.ts'
import {namedId, type Org, type User} from './org.ts'
import type {ProfileSpec} from './schema.ts'
import type {Verb} from './scopes.ts'
import type {Rec} from './store.ts'

const apiAccess = 'Crm_Implied_Api_Access'
const manageProfiles = 'Crm_Implied_Manage_Profiles'
const manageSharing = 'Crm_Implied_Manage_Data_Sharing'
const ofAdministrators = [manageProfiles, manageSharing, 'Crm_Implied_Customize_Zoho_CRM']
const actions: Record<Verb, string> = {READ: 'View', CREATE: 'Create', UPDATE: 'Edit', DELETE: 'Delete'}

export const usualProfiles: ProfileSpec[] = [
  {name: 'Administrator', like: 'Administrator'},
  {name: 'Standard', like: 'Standard'},
]

/** Returns the spec of a profile. A profile without one counts as a clone of Standard. */
const profileOf = (org: Org, name: string): ProfileSpec => org.profiles.get(name) ?? {name, like: 'Standard', clone: true}

const permissionsOf = (org: Org, name: string) => {
  const {like, without = []} = profileOf(org, name)
  const ofModules = [...org.modules.keys()].flatMap(module => Object.values(actions).map(action => `Crm_Implied_${action}_${module}`))
  return [...ofModules, apiAccess, ...ofAdministrators].map(permission => ({
    name: permission,
    enabled: !without.includes(permission) && (like === 'Administrator' || !ofAdministrators.includes(permission)),
  }))
}

const isAllowed = (org: Org, {profile}: User, permission: string) => {
  const {like, without = []} = profileOf(org, profile.name)
  return !without.includes(permission) && (like === 'Administrator' || !ofAdministrators.includes(permission))
}

/** Whether the user has the org's original administrator profile, under any name. The switch `clonesAreAdmins` includes clones. */
export const isAdministrator = (org: Org, {profile}: User): boolean => {
  const {like, clone = false} = profileOf(org, profile.name)
  return like === 'Administrator' && (!clone || org.switches.clonesAreAdmins)
}

/** Returns a 403 if the profile may not call the API, or may not do `verb` in the module; otherwise null. */
export const refuseByProfile = (org: Org, user: User, {module, verb}: {module: string | null; verb: Verb}): Answer | null => {
  const needed = [apiAccess, ...(module === null ? [] : [`Crm_Implied_${actions[verb]}_${module}`])]
  const missing = needed.find(permission => !isAllowed(org, user, permission))
  return missing === undefined ? null : noPermission(missing)
}

const noPermission = (permission: string) => refuse(403, 'NO_PERMISSION', {permissions: [permission]})

const isPrivate = ({switches}: Org, module: string) => switches.privateModules === 'all' || switches.privateModules.includes(module)

/** Whether the user sees the record. In a private module, users see records they own, and administrators see all. */
export const canSee = ({org, user}: Pick<Call, 'org' | 'user'>, module: string, rec: Rec): boolean =>
  !isPrivate(org, module) || isAdministrator(org, user) || rec.owner.id === user.id

export const listProfiles = (call: Call): Answer => {
  assertMay(call, manageProfiles)
  return ok({
    profiles: [...call.org.profiles.keys()].map(name => describe(call.org, name)),
    info: {per_page: 200, page: 1, more_records: false},
  })
}

export const readProfile = (call: Call): Answer => {
  assertMay(call, manageProfiles)
  const name = [...call.org.profiles.keys()].find(one => profileId(call.org, one) === call.segments[2])
  if (name === undefined) throw new CallRefused(refuse(400, 'INVALID_DATA', {resource_path_index: 2}, 'the id given seems to be invalid'))
  const permissions_details = permissionsOf(call.org, name).map(one => ({...one, display_label: one.name, customizable: true}))
  return ok({profiles: [{...describe(call.org, name), permissions_details, sections: []}]})
}

export const listSharing = (call: Call): Answer => {
  assertMay(call, manageSharing)
  const modules = [...call.org.modules.values()].filter(({spec}) => (spec.kind ?? 'default') === 'default' || spec.kind === 'custom')
  const data_sharing = modules.map(({name, id}) => ({
    public_in_portals: false,
    share_type: isPrivate(call.org, name) ? 'private' : 'public',
    module: {api_name: name, id},
    rule_computation_running: false,
  }))
  return ok({data_sharing})
}

const assertMay = ({org, user}: Call, permission: string) => {
  if (!isAllowed(org, user, permission)) throw new CallRefused(noPermission(permission))
}

export const profileId = (org: Org, name: string) => namedId(org, `profile ${name}`)

const describe = (org: Org, name: string) => ({
  id: profileId(org, name),
  name,
  api_name: name.replace(/\W+/g, '_'),
  display_label: name,
  custom: profileOf(org, name).clone ?? false,
  type: 'normal_profile',
  description: null,
  created_time: null,
  modified_time: null,
  created_by: null,
  modified_by: null,
})
