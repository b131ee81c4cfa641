import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, numberParam} from './call.ts'
import {type Org, type User, userById} from './org.ts'
import {isAdministrator} from './profiles.ts'

const isAdmin = (user: User, {org}: Call) => isAdministrator(org, user)

const typeFilters: Record<string, (user: User, call: Call) => boolean> = {
  AllUsers: () => true,
  ActiveUsers: user => user.status === 'active',
  DeactiveUsers: user => user.status === 'inactive',
  ConfirmedUsers: user => user.confirmed,
  NotConfirmedUsers: user => !user.confirmed,
  DeletedUsers: user => user.status === 'deleted',
  ActiveConfirmedUsers: user => user.status === 'active' && user.confirmed,
  AdminUsers: isAdmin,
  ActiveConfirmedAdmins: (user, call) => user.status === 'active' && user.confirmed && isAdmin(user, call),
  CurrentUser: (user, call) => user.id === call.user.id,
}

export const readOrg = (call: Call): Answer => ok({org: [describeOrg(call.org)]})

export const listUsers = (call: Call): Answer => {
  const found = findUsers(call)
  const page = numberParam(call, 'page', 1)
  const perPage = numberParam(call, 'per_page', 200, {most: 200})
  const users = found.slice((page - 1) * perPage, page * perPage)
  if (users.length === 0) return nothing()
  const info = {per_page: perPage, count: users.length, page, more_records: found.length > page * perPage}
  return ok({users: users.map(describeUser), info})
}

/** Answers the number of users as text. Source: the vendor's OpenAPI 3.0 of users, and `TLongString` in its SDK's json_details. */
export const countUsers = (call: Call): Answer => ok({count: String(findUsers(call).length)})

export const readUser = (call: Call): Answer => {
  const user = userById(call.org, call.segments[1]!)
  return user ? ok({users: [describeUser(user)]}) : nothing()
}

const findUsers = (call: Call): User[] => {
  const type = call.query.get('type') ?? 'AllUsers'
  const isWanted = typeFilters[type]
  if (!isWanted) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'type'}))
  return call.org.users.filter(user => isWanted(user, call))
}

export const describeUser = (user: User) => ({
  id: user.id,
  zuid: user.zuid,
  full_name: user.fullName,
  first_name: user.firstName,
  last_name: user.lastName,
  email: user.email,
  status: user.status,
  confirm: user.confirmed,
  profile: {name: user.profile.name, id: user.profile.id},
  role: {name: user.role.name, id: user.role.id},
  time_zone: user.timeZone,
  locale: 'en_GB',
  language: 'en_GB',
  country_locale: 'en_GB',
  type__s: 'Regular User',
  microsoft: false,
  personal_account: false,
  date_format: 'dd/MM/yyyy',
  time_format: 'HH:mm',
  alias: null,
  phone: null,
  mobile: null,
  created_by: null,
  created_time: null,
})

const describeOrg = (org: Org) => {
  const {spec} = org
  const owner = org.users[0]
  const currency = spec.currency ?? {name: 'Euro', code: 'EUR', symbol: '€', locale: 'es_ES'}
  return {
    id: org.id,
    zgid: spec.zgid,
    company_name: spec.companyName,
    alias: null,
    type: spec.type ?? 'production',
    country_code: spec.country ?? 'ES',
    time_zone: org.timeZone,
    currency: currency.name,
    iso_code: currency.code,
    currency_symbol: currency.symbol,
    currency_locale: currency.locale,
    primary_email: owner?.email ?? null,
    primary_zuid: owner?.zuid ?? null,
    domain_name: `org${spec.zgid}`,
    website: null,
    phone: null,
    photo_id: null,
    employee_count: null,
    mc_status: false,
    gapps_enabled: false,
    translation_enabled: false,
    privacy_settings: false,
    hipaa_compliance_enabled: false,
    license_details: {
      paid: spec.edition !== 'free' && !spec.trial,
      paid_type: spec.edition,
      paid_expiry: spec.edition === 'free' || spec.trial ? null : '2030-01-01T00:00:00+01:00',
      users_license_purchased: spec.licences,
      portal_users_license_purchased: 0,
      trial_type: spec.trial ? spec.edition : null,
      trial_expiry: spec.trial ? '2030-01-01T00:00:00+01:00' : null,
    },
    hierarchy_preferences: {type: 'Role_Hierarchy'},
  }
}
