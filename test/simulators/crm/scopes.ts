import type {AccessToken} from './tokens.ts'

const pattern = /^(?:ZohoCRM|ZohoSearch|ZohoFiles|AaaServer)\.[A-Za-z_.]+\.(?:ALL|READ|CREATE|UPDATE|DELETE|WRITE)$/
const openId = ['openid', 'email', 'profile']

export type Verb = 'READ' | 'CREATE' | 'UPDATE' | 'DELETE'

export const splitScopes = (text: string) => text.split(/[\s,]+/).filter(Boolean)
export const isScope = (text: string) => pattern.test(text) || openId.includes(text)

/** `settings.fields` is also granted by `settings`, any verb also by ALL; module names are in lower case there. */
export const hasScope = (token: AccessToken, area: string, verb: Verb): boolean => {
  const parts = area.toLowerCase().split('.')
  return token.scopes.some(scope => {
    const granted = scope.toLowerCase().split('.')
    const last = granted.pop()!.toUpperCase()
    if (last !== 'ALL' && last !== verb && !(last === 'WRITE' && verb !== 'READ' && verb !== 'DELETE')) return false
    return granted.length <= parts.length && granted.length > 1 && granted.every((part, index) => part === parts[index])
  })
}

/** A custom module may be named by itself, or all of them as `custom`. */
export const hasModuleScope = (token: AccessToken, module: string, isCustom: boolean, verb: Verb): boolean =>
  hasScope(token, `ZohoCRM.modules.${module}`, verb) || (isCustom && hasScope(token, 'ZohoCRM.modules.custom', verb))
