import {filled, LONGEST_WRITTEN, shown} from './as-text.js'

/**
 * `phone(text, callingCode?, trunk = '0')`: +4930123456 in E.164. A national number needs the calling code ("49") and loses its trunk digit
 * (Italy has none: '' or null). With the code "1" of North America, the trunk digit is 1, an international number begins with 011, and a national
 * one has ten digits. An extension stays, as " x12". Empty gives null; too few or too many digits are an error.
 */
export const phone = (value, callingCode, givenTrunk) => {
  const text = filled(value, 'phone')
  if (text === null) return null
  const refuse = says => new RangeError(`helpers.phone: ${shown(text)} ${says}`)
  if (text.length > LONGEST_WRITTEN) throw refuse('is not a phone number')
  const [, main, extension] = /^(.*?)(?:\s*(?:;ext=|ext\.?|extension|durchwahl|x)\s*(\d{1,7}))?$/i.exec(text)
  if (!/^(tel:)?[\s(]*\+?[\d\s().\-–/\u2010\u2011]*$/i.test(main)) throw refuse('is not a phone number')
  const code = String(callingCode ?? '').replace(/\D/g, '')
  const [usualTrunk, exit] = code === '1' ? ['1', /^(00|011)/] : ['0', /^00/]
  const trunk = givenTrunk === undefined ? usualTrunk : givenTrunk
  const international = main.includes('+') || exit.test(main.replace(/\D/g, ''))
  const digits = main.replace('(0)', international ? '' : '(0)').replace(/\D/g, '')
  if (!international && !code) throw refuse('has no country; give its calling code: helpers.phone(value, "49")')
  const full = international
    ? digits.replace(main.includes('+') ? /^00/ : exit, '')
    : `${code}${trunk && digits.startsWith(trunk) ? digits.slice(trunk.length) : digits}`
  const isMisfit = code === '1' && !international && full.length !== 11
  if (full.length < 7 || full.length > 15 || full.startsWith('0') || isMisfit) throw refuse('has too few or too many digits')
  return `+${full}${extension ? ` x${extension}` : ''}`
}

const LOCAL = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
const HOST = /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+\p{L}[\p{L}\p{N}-]{0,61}[\p{L}\p{N}]$/u

/** `email(text)`: the address alone, in lower case, from `mailto:` and `Name <address>`. Empty gives null; anything else is an error. */
export const email = value => {
  const text = filled(value, 'email')
  if (text === null) return null
  const bracketed = /<([^<>]*)>\s*$/.exec(text)
  const address = (bracketed ? bracketed[1] : text)
    .trim()
    .replace(/^mailto:/i, '')
    .toLowerCase()
  const at = address.lastIndexOf('@')
  const local = address.slice(0, at)
  if (at < 1 || at > 64 || !LOCAL.test(local) || !HOST.test(address.slice(at + 1)))
    throw new RangeError(`helpers.email: ${shown(text)} is not an e-mail address`)
  return address
}

/**
 * `url(text)`: adds `https://` if there is no scheme, host in lower case. Only http and https. Empty gives null; anything else is an error.
 */
export const url = value => {
  const text = filled(value, 'url')
  if (text === null) return null
  const found = /^(?:(https?):\/\/)?([^\s/?#@:]+)(:\d{1,5})?([/?#]\S*)?$/i.exec(text)
  const host = found?.[2].toLowerCase().replace(/\.$/, '')
  if (!found || !(HOST.test(host) || (host === 'localhost' && found[1]) || isAddress(host)) || Number(found[3]?.slice(1) ?? 0) > 65_535)
    throw new RangeError(`helpers.url: ${shown(text)} is not a web address`)
  return `${(found[1] ?? 'https').toLowerCase()}://${host}${found[3] ?? ''}${found[4] ?? ''}`
}

const isAddress = host => /^\d{1,3}(\.\d{1,3}){3}$/.test(host) && host.split('.').every(part => Number(part) < 256)
