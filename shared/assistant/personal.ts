import {shapeOf} from './shape.ts'

/** Whether a value looks like an e-mail address, a telephone number, a bank account or another long number that may identify a person. */
export const looksPersonal = (value: string): boolean => {
  const text = plainOf(value)
  return EMAIL.test(text) || IBAN.test(text) || longNumbers(text).length > 0
}

/** Replaces the parts of a text that look personal by their shapes. If the text has such parts, the rest of the text is normalised too. */
export const shapePersonal = (text: string): string => {
  if (!looksPersonal(text)) return text
  const plain = plainOf(text)
  const numbers = longNumbers(plain).toSorted((one, other) => other.length - one.length)
  const shaped = plain.replaceAll(WHOLE_EMAIL, shapeOf).replaceAll(WHOLE_IBAN, shapeOf)
  return numbers.reduce((rest, number) => rest.replaceAll(number, shapeOf(number)), shaped)
}

/**
 * Normalises a value: wide and foreign forms of letters, digits and dashes, and spelled-out at signs and dots. Removes invisible
 * characters.
 */
const plainOf = (value: string) =>
  value
    .normalize('NFKC')
    .replaceAll(/\p{Cf}|\uFE0F/gu, '')
    .replaceAll(/(?!\d)\p{Nd}/gu, '0')
    .replaceAll(/\p{Pd}/gu, '-')
    .replaceAll(/\s?[[({]\s?(?:at|@)\s?[\])}]\s?/gi, '@')
    .replaceAll(/\s?[[({]\s?(?:dot|punkt|point)\s?[\])}]\s?/gi, '.')

const EMAIL = /[^\s@]\s?@\s?[^\s@]+\.[^\s@]/
/** Matches an e-mail address. The lengths are bounded, so that matching takes linear time. */
const WHOLE_EMAIL = /[^\s@]{1,128}\s?@\s?[^\s@]{1,255}/g
/** Matches a bank account number written in one piece or in groups of four. */
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/i
const WHOLE_IBAN = new RegExp(IBAN, 'gi')
/** Matches dates and times, which have as many digits as telephone numbers but do not identify a person. */
const DATE =
  /\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)?(?:Z|[+-]\d{2}:?\d{2})?|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/g
/** Matches digits in one piece, or in groups that are separated as in telephone numbers. */
const DIGITS = /\+?\d(?:[\s()/._·•-]{0,3}\d)*/g
const fewestDigits = 7
/** A number without groups and with at most this many digits may be an amount. */
const amountDigits = 8

/** Returns the numbers of a text that may identify a person. Each date is first replaced by a character that ends a number. */
const longNumbers = (text: string): string[] =>
  [...text.replaceAll(DATE, ';').matchAll(DIGITS)].flatMap(([found]) => {
    const digits = found.replaceAll(/\D/g, '').length
    const isGrouped = found.startsWith('+') || /\d[\s()/_·•-]/.test(found)
    return digits >= fewestDigits && (digits > amountDigits || isGrouped) ? [found] : []
  })

/** Whether a column's name suggests personal data, in the languages of the CRM's labels. An ambiguous name such as `Name` is personal. */
export const isCalledPersonal = (header: string): boolean => {
  const words = wordsIn(header)
  if (words.some(word => PERSONS.has(word) || PERSONAL_PARTS.test(word))) return true
  return words.some(word => NAMES.has(word)) && !words.some(word => THINGS.has(word))
}

/**
 * Whether a column's values look like people's names. At least three quarters of the values must be different, and at least two thirds of these must
 * be two to four capitalised words. Names of towns have the same form, so the result is false if the column's name means a thing.
 */
export const looksLikeNames = (header: string, samples: readonly string[]): boolean => {
  const different = [...new Set(samples)]
  if (different.length < 2 || different.length * 4 < samples.length * 3 || wordsIn(header).some(word => THINGS.has(word))) return false
  return different.filter(value => FULL_NAME.test(value.normalize('NFC').trim())).length * 3 >= different.length * 2
}

const wordsIn = (header: string): string[] =>
  header
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .split(/[^\p{L}]+/u)
    .filter(Boolean)

const FULL_NAME = /^\p{Lu}[\p{L}'’.]{1,30}(?:,?[ -]\p{Lu}[\p{L}'’.]{0,30}){1,3}$/u

const wordsOf = (text: string) => new Set(text.trim().split(/\s+/))

const PERSONS = wordsOf(`
  email mail courriel correo eposta phone tel telephone telefon telefono telefone telefoon mobile mobil handy cell cellphone fax portable
  birth birthday dob birthdate contact kontakt contacto contatto person personne persona pessoa persoon osoba employee mitarbeiter patient
  vorname nachname familienname prenom nombre apellido apellidos cognome voornaam achternaam imie nazwisko sobrenome surname forename lastname
  firstname fullname ansprechpartner iban passport passeport pasaporte reisepass ssn salary gehalt salaire linkedin twitter whatsapp skype
  address adresse direccion indirizzo endereco adres street strasse rue calle straat ulica adresa`)
const PERSONAL_PARTS = /geburt|naissance|nacimiento|nascita|nascimento|telefon|ausweis|anschrift|strasse|adress/
const NAMES = wordsOf('name nom nome naam nazwa names owner kunde customer client cliente')
const THINGS = wordsOf(`
  company account firma unternehmen societe empresa azienda bedrijf product produkt produit producto campaign kampagne file datei deal
  organisation organization org brand module project projekt industry branche country land
  city stadt ort town ville ciudad cidade citta miasto plaats region state status stage color colour farbe category kategorie tag team department abteilung`)
