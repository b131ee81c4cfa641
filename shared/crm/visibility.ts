import type {ConnectorWarning} from '../../sql/connectors.ts'
import {apiAccessRemedy, asObject, codeOf, lacksApiAccess} from './error.ts'
import {listAt} from './outcome.ts'

/** Sends a GET to the CRM. Returns answers below 500, including refusals for a missing scope or permission. */
export type ReadJson = (path: string, query?: Record<string, string>) => Promise<{status: number; json: unknown}>

export type CrmAccess = {
  isAdministrator: boolean
  /** Limits of the user that can make an import incomplete. */
  warnings: ConnectorWarning[]
}

const manageProfiles = 'Crm_Implied_Manage_Profiles'
const usersPerPage = 200
const mostPages = 20

/**
 * Only the owner, the owner's managers and administrators see the records of a private module. Source:
 * zoho.com/crm/developer/docs/api/v8/retrieve-data-sharing-settings.html.
 */
export const readAccess = async (read: ReadJson, user: {id: string; profile: string | null}): Promise<CrmAccess> => {
  const isListed = await isListedAdministrator(read, user.id)
  if (isListed) return {isAdministrator: true, warnings: []}
  const [isAdministrator, modules] = await Promise.all([mayManageProfiles(read, user.profile), readPrivateModules(read)])
  const limited: ConnectorWarning[] = modules === null || modules.length > 0 ? [{code: 'limitedView', modules: modules ?? []}] : []
  const lower: ConnectorWarning[] = isAdministrator ? [] : [{code: 'notAdmin', modules: []}]
  return {isAdministrator, warnings: [...lower, ...limited]}
}

/** Returns whether the CRM lists the user as an administrator, or the profile may manage profiles, as a cloned administrator profile may. */
export const isCrmAdministrator = async (read: ReadJson, user: {id: string; profile: string | null}): Promise<boolean> =>
  (await isListedAdministrator(read, user.id)) || mayManageProfiles(read, user.profile)

/**
 * Returns whether the user is among the first 4,000 of `AdminUsers`: "all users with the administrative privileges"
 * (zoho.com/crm/help/api/getusers.html), whatever their profile is called.
 */
const isListedAdministrator = async (read: ReadJson, id: string) => {
  for (let page = 1; page <= mostPages; page++) {
    const {status, json} = await read('/crm/v8/users', {type: 'AdminUsers', page: String(page), per_page: String(usersPerPage)})
    if (status === 204) return false
    if ((listAt(json, 'users') ?? []).some(user => asObject(user)?.id === id)) return true
    if (asObject(asObject(json)?.info)?.more_records !== true) return false
  }
  return false
}

/** The CRM shows a profile only to users who may manage profiles; others get 403. Source: github.com/zoho/crm-oas, v8.0/profiles. */
const mayManageProfiles = async (read: ReadJson, profile: string | null) => {
  if (profile === null) return false
  const {json} = await read(`/crm/v8/settings/profiles/${encodeURIComponent(profile)}`)
  const permissions = listAt(listAt(json, 'profiles')?.[0], 'permissions_details') ?? []
  return permissions.map(asObject).some(one => one?.name === manageProfiles && one.enabled === true)
}

/** Null if the CRM refuses: the call needs a separate scope and the right to manage data sharing. */
const readPrivateModules = async (read: ReadJson): Promise<string[] | null> => {
  const {json} = await read('/crm/v8/settings/data_sharing')
  const shares = listAt(json, 'data_sharing')?.map(asObject)
  if (!shares || shares.some(share => typeof share?.share_type !== 'string')) return null
  return shares.filter(share => share!.share_type === 'private').map(share => String(asObject(share!.module)?.api_name))
}

/**
 * Returns whether the CRM refused to return the own user or org because the profile has no API access. Every user with API access may read both, so a
 * 403 that names no permission means this too. With `isNamed`, the 403 must name the permission.
 */
export const isApiAccessRefused = ({status, json}: {status: number; json: unknown}, {isNamed = false} = {}): boolean => {
  const refusal = asObject(listAt(json, 'data')?.[0]) ?? asObject(json)
  const [code, details] = [codeOf(refusal), refusal?.details]
  const isUnnamed = status === 403 && code === 'NO_PERMISSION' && !Array.isArray(asObject(details)?.permissions)
  return (isUnnamed && !isNamed) || lacksApiAccess({status, code, details})
}

const SAYS: Record<ConnectorWarning['code'], {message: string; remedy: string}> = {
  noApiAccess: {
    message: 'The profile of this CRM user has no API access. Nothing can be read or written',
    remedy: `${apiAccessRemedy}. Then refresh the modules`,
  },
  notAdmin: {
    message: 'This CRM user is not an administrator. Modules, fields and records may be missing, and some writes may be refused',
    remedy: 'Connect as a CRM administrator, or give the profile every permission that the imports need',
  },
  limitedView: {
    message: 'This CRM user may not see all records. A match can miss a record that exists, and an import can create it twice',
    remedy: 'Connect as a CRM administrator, or share the modules: in the CRM, open Setup, Security Control, Data Sharing Settings',
  },
}

/** `modules` is empty if the warning applies to all modules, or if the CRM does not name them. */
export const describeWarning = ({code, modules}: ConnectorWarning) => ({code, modules, ...SAYS[code]})
