/** Whether a value looks like an address, a telephone number, a bank account or another long number that stands for somebody. */
export const looksPersonal = (value: string): boolean => {
  // Wide forms of letters and digits are read as the usual ones, and what is not seen is not there.
  const text = value.normalize('NFKC').replaceAll(/\p{Cf}/gu, '')
  return EMAIL.test(text) || IBAN.test(text) || hasLongNumber(text)
}

const EMAIL = /[^\s@]@[^\s@]+\.[^\s@]/
/** As accounts are written: in one piece, or in groups of four. */
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/i
/** Days and times have as many digits as a telephone number, and say less. */
const DATE =
  /\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)?(?:Z|[+-]\d{2}:?\d{2})?|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/g
/** Digits in a row, or in groups with a mark between as telephone numbers have them. */
const DIGITS = /\+?\d(?:[ ()/.-]{0,3}\d)*/g
const fewestDigits = 7
/** A number may be an amount as long as it is no longer than this and has no groups. */
const amountDigits = 8

const hasLongNumber = (text: string) => {
  for (const [found] of text.replaceAll(DATE, ' ').matchAll(DIGITS)) {
    const digits = found.replaceAll(/\D/g, '').length
    if (digits < fewestDigits) continue
    if (digits > amountDigits || found.startsWith('+') || /\d[ ()/-]/.test(found)) return true
  }
  return false
}

/**
 * Whether a column is called as columns about people are, in the languages the CRM's labels come in. It errs on the side of people: of a column
 * called `Name` nobody knows whose it is.
 */
export const isCalledPersonal = (header: string): boolean => {
  const words = header
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .split(/[^\p{L}]+/u)
    .filter(Boolean)
  if (words.some(word => PERSONS.has(word) || PERSONAL_PARTS.test(word))) return true
  return words.some(word => NAMES.has(word)) && !words.some(word => THINGS.has(word))
}

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
  organisation organization org brand module project projekt industry branche country land`)
