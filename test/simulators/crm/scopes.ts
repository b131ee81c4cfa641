import type {AccessToken} from './tokens.ts'

const pattern = /^(?:ZohoCRM|ZohoSearch|ZohoFiles|AaaServer)\.[A-Za-z_.]+\.(?:ALL|READ|CREATE|UPDATE|DELETE|WRITE)$/
const openId = ['openid', 'email', 'profile']

export type Verb = 'READ' | 'CREATE' | 'UPDATE' | 'DELETE'

export const splitScopes = (text: string) => text.split(/[\s,]+/).filter(Boolean)
export const isScope = (text: string) => pattern.test(text) || openId.includes(text)

/**
 * Whether a scope of the token covers the area and the verb. `settings` covers `settings.fields`. ALL covers every verb, WRITE all but READ
 * and DELETE.
 */
export const hasScope = (token: AccessToken, area: string, verb: Verb): boolean => {
  const parts = area.toLowerCase().split('.')
  return token.scopes.some(scope => {
    const granted = scope.toLowerCase().split('.')
    const last = granted.pop()!.toUpperCase()
    if (last !== 'ALL' && last !== verb && !(last === 'WRITE' && verb !== 'READ' && verb !== 'DELETE')) return false
    return granted.length <= parts.length && granted.length > 1 && granted.every((part, index) => part === parts[index])
  })
}

/** Whether the token covers the module: by its name, or by `custom` if it is a custom module. */
export const hasModuleScope = (token: AccessToken, module: string, isCustom: boolean, verb: Verb): boolean =>
  hasScope(token, `ZohoCRM.modules.${module}`, verb) || (isCustom && hasScope(token, 'ZohoCRM.modules.custom', verb))
