import {t} from '../text/files.ts'

const columns = 'First Name,Last Name,Company,Email,Phone,Lead Source,No. of Employees'

/** The rows of the sample file. Rows 5, 9 and 14 have an error, so that the review shows how errors are reported and fixed. */
const rows = [
  'Amélie,Moreau,Petit Atelier,amelie.moreau@atelier.example,+33 4 72 10 45 18,Online Store,12',
  'Bruno,Castro,Ponte Logistica,b.castro@ponte.example,+39 010 55 21 43,Trade Show,85',
  'Carla,Jansen,Molen Machines,carla.jansen@molen.example,+31 30 214 46 18,Partner,230',
  'Dario,Ferrari,Ponte Logistica,d.ferrari@ponte.example,+39 010 55 21 47,Trade Show,85',
  'Elena,Vogel,Nordlicht Energie,elena.vogel at nordlicht.example,+49 40 318 22 60,Advertisement,640',
  'Farid,Hughes,Green Lane Clinics,farid.hughes@greenlane.example,+44 113 496 01 12,Cold Call,57',
  'Greta,Lindqvist,Harbour Foods,greta@harbour.example,+34 94 423 70 81,Online Store,31',
  'Hugo,Oliveira,Azulejo Design,hugo.oliveira@azulejo.example,+351 22 339 90 12,Employee Referral,9',
  'Ines,,Azulejo Design,ines@azulejo.example,+351 22 339 90 14,Employee Referral,9',
  'Jonas,Bergmann,Nordlicht Energie,jonas.bergmann@nordlicht.example,+49 40 318 22 61,Advertisement,640',
  'Katrin,Huber,Molen Machines,katrin.huber@molen.example,+31 30 214 46 20,Partner,230',
  'Liam,Byrne,Clearwater School,liam.byrne@clearwater.example,+353 21 427 61 00,Cold Call,44',
  'Marta,Delgado,Harbour Foods,marta.delgado@harbour.example,+34 94 423 70 85,Online Store,31',
  'Nils,Eriksen,Harbour Foods,nils.eriksen@harbour.example,+34 94 423 70 88,Online Store,about thirty',
  'Olga,Novak,Green Lane Clinics,olga.novak@greenlane.example,+44 113 496 01 19,Trade Show,57',
  'Pedro,Santos,Azulejo Design,pedro.santos@azulejo.example,+351 22 339 90 16,Partner,9',
  'Rosa,Quintana,Clearwater School,rosa.quintana@clearwater.example,+353 21 427 61 04,Cold Call,44',
  'Stefan,Keller,Petit Atelier,stefan.keller@atelier.example,+33 4 72 10 45 22,Online Store,12',
  'Teresa,Pereira,Ponte Logistica,teresa.pereira@ponte.example,+39 010 55 21 50,Trade Show,85',
  'Viktor,Neumann,Nordlicht Energie,viktor.neumann@nordlicht.example,+49 40 318 22 64,Advertisement,640',
]

export const makeSampleFile = (): File => new File([[columns, ...rows, ''].join('\r\n')], t.sampleLeadsCsv, {type: 'text/csv'})
