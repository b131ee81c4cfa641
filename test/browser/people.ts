/** An invented contact of a trade fair. The screenshots in the README show such contacts. */
export type Person = {
  first: string
  last: string
  company: string
  email: string
  title: string
  phone: string
  birthday: string
  city: string
  country: string
}

const firsts =
  'Amélie,Bruno,Carla,Dario,Elena,Farid,Greta,Hugo,Ines,Jonas,Katrin,Liam,Marta,Nils,Olga,Pedro,Rosa,Stefan,Teresa,Viktor'.split(',')
const lasts =
  'Alvarez,Baumann,Castro,Dubois,Eriksen,Ferrari,Gomes,Hartmann,Ibarra,Jansen,Keller,Lombardi,Moreau,Novak,Oliveira,Pereira,Quintana,Rossi,Santos,Torres,Urbina,Vogel,Weber,Zanetti,Lindqvist,Byrne,Doyle,Fontaine,Marchetti,Neumann,Sandoval,Bergmann,Costa,Delgado,Engel,Fischer,Garnier,Hughes,Iversen,Kowalski,Laurent,Martins,Nielsen,Ortega,Petit,Romano,Schulz,Teixeira,Vidal,Walsh,Ziegler,Almeida,Bianchi,Carvalho,Duarte,Esposito,Fabre,Greco,Huber,Janssens'.split(
    ',',
  )
const titles = [
  'Head of Purchasing',
  'Sales Manager',
  'Operations Lead',
  'Founder',
  'Logistics Planner',
  'Finance Director',
  'Plant Manager',
]

/** Companies, each with its town and country. `journey.browser.ts` creates them as accounts of the CRM. */
export const companies = [
  ['Harbour Foods', 'Bilbao', 'ES'],
  ['Nordlicht Energie', 'Hamburg', 'DE'],
  ['Petit Atelier', 'Lyon', 'FR'],
  ['Green Lane Clinics', 'Leeds', 'GB'],
  ['Ponte Logistica', 'Genoa', 'IT'],
  ['Clearwater School', 'Cork', 'IE'],
  ['Azulejo Design', 'Porto', 'PT'],
  ['Molen Machines', 'Utrecht', 'NL'],
] as const
export const countries: Record<string, string> = {
  ES: 'Spain',
  DE: 'Germany',
  FR: 'France',
  GB: 'United Kingdom',
  IT: 'Italy',
  IE: 'Ireland',
  PT: 'Portugal',
  NL: 'Netherlands',
}

/**
 * Returns `count` people, of whom the first 1,200 are different. No birthday is after the twelfth of its month, so that day and month are
 * ambiguous.
 */
export const peopleOf = (count: number): Person[] =>
  Array.from({length: count}, (_, n) => {
    const [first, last] = [firsts[n % firsts.length]!, lasts[(n + Math.floor(n / 60)) % lasts.length]!]
    const [company, city, country] = companies[(n * 5 + Math.floor(n / 8)) % companies.length]!
    const two = (value: number) => String(value).padStart(2, '0')
    return {
      first,
      last,
      company,
      city,
      country,
      title: titles[n % titles.length]!,
      email: `${plain(first)[0]}.${plain(last)}@${plain(company.split(' ')[0]!)}.example`,
      phone: `+${31 + (n % 18)} ${214 + ((n * 37) % 700)} ${two((n * 31 + 46) % 100)} ${two((n * 7 + 18) % 100)} ${two((n * 13 + 72) % 100)}`,
      birthday: `${two(1 + ((n * 5 + 3) % 12))}/${two(1 + ((n * 7 + 8) % 12))}/${1962 + ((n * 11 + 19) % 40)}`,
    }
  })

const plain = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/[^A-Za-z]/g, '')
    .toLowerCase()

const heads = ['First name', 'Surname', 'Company', 'E-mail', 'Position', 'Tel.', 'Birthday', 'Town', 'Country']

export const fairFile = (people: Person[]): string =>
  csvOf([
    heads,
    ...people.map(one => [one.first, one.last, one.company, one.email, one.title, one.phone, one.birthday, one.city, one.country]),
  ])

export const csvOf = (rows: string[][]): string => rows.map(cells => `${cells.map(quoted).join(',')}\r\n`).join('')
const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
