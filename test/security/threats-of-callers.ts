/** The table that `matrix.test.ts` holds against the tests: S1 to S8; the rest is in `threats-of-surroundings.ts`. */
export type Proof = [file: string, title: string]
/** What threatens, the figure to reach, and each thing that is claimed with the tests it rests on: by file, a title as it stands there. */
export type Threat = {threat: string; goal: string; held: Record<string, Proof[]>}

export const ofCallers: Record<string, Threat> = {
  S1: {
    threat: 'an id of another org, tried at whatever route takes one',
    goal: 'every route that takes an id; an answer that is byte for byte that to an id nobody has',
    held: {
      'the org of the bearer against that of the path, before all else': [['test/access.test.ts', 'a session of another org']],
      'every id parameter of every route, asked by the owner': [
        ['test/other-orgs-ids.test.ts', 'for (const {collection, name} of parametersOf(route))'],
      ],
      'the same by every other role, an API token, a view of staff and nobody': [
        ['test/other-orgs-ids.test.ts', "cannot tell another org's id either, at any route"],
      ],
      'ids in bodies and queries': [['test/other-orgs-ids.test.ts', 'Ids in bodies and queries, which the paths do not show.']],
      'no route without a row': [['test/access.test.ts', 'every route has a row that says who may, and every row a route']],
      'an invitation tells nobody whose it is': [
        ['test/api/invitations.test.ts', 'an invitation to somebody else is no invitation, byte for byte'],
      ],
      'no row of an org that nobody asked changes': [
        ['test/api/fuzz.test.ts', 'requests drawn from the route table are answered as declared'],
      ],
    },
  },
  S2: {
    threat: 'a session token somebody else made',
    goal: 'no forgery taken, of some thirty kinds',
    held: {
      'algorithms none and other, a public key as secret': [
        ['test/api/session-forgery.test.ts', 'no algorithm at all'],
        ['test/api/session-forgery.test.ts', 'a public key used as the secret'],
        ['test/api/session-forgery.test.ts', 'two algorithms'],
      ],
      'key ids that are a path, a statement or a property': [
        ['test/api/session-forgery.test.ts', 'a key id that is a path'],
        ['test/api/session-forgery.test.ts', 'a key id that is a statement'],
        ['test/api/session-forgery.test.ts', 'a key id that every object has'],
      ],
      'keys that the header brings or points at': [
        ['test/api/session-forgery.test.ts', 'a key pair of its own, in the header'],
        ['test/api/session-forgery.test.ts', 'an address its key is to be fetched from'],
        ['test/api/session-forgery.test.ts', 'a certificate of its own in the header'],
      ],
      'issuer, audience, type, beginning and end': [
        ['test/api/session-forgery.test.ts', 'a beginning that is still to come'],
        ['test/api/session-forgery.test.ts', 'an end that has passed'],
        ['test/shared/people.test.ts', 'the algorithm, type, issuer and audience are ours or nothing is read'],
      ],
      'claims said twice': [['test/api/session-forgery.test.ts', 'two subjects under no key of ours']],
      'a megabyte of token': [['test/api/session-forgery.test.ts', 'a token of a megabyte is refused in the envelope']],
      'one kind of secret for another': [['test/api/oauth-attacks.test.ts', 'one kind of secret is never taken for another']],
    },
  },
  S3: {
    threat: 'a copy of the database that lets its reader in',
    goal: 'none of what was issued found in a dump of every table',
    held: {
      '256 random bits with prefix and checksum, kept as a hash': [
        ['test/shared/people.test.ts', 'a secret has our prefix, 256 random bits and a checksum'],
        ['test/api/tokens.test.ts', 'the database holds a hash and no secret'],
      ],
      'no secret in any table, as it is or encoded': [
        ['test/security/s03-secrets.test.ts', 'what lets somebody in is in no table, and in no log beside what people wrote'],
        ['test/api/oauth-attacks.test.ts', 'no secret is in any table'],
      ],
      'nothing compares a secret character by character': [['test/boundaries.test.ts', 'secretComparisons']],
      'revoked and expired from the next request on': [
        ['test/api/tokens.test.ts', 'a revoked token is refused on its next request, and revoking is idempotent'],
        ['test/api/tokens.test.ts', 'a token expires by the one clock'],
      ],
    },
  },
  S4: {
    threat: 'more requests, larger ones or slower ones than anybody needs',
    goal: 'eight hundred slow connections: others answered, all of them ended',
    held: {
      'a count for each bearer and each address, and when to come back': [
        ['test/api/rate-limit.test.ts', 'one bearer too fast is told when to come back; another goes on'],
        ['test/api/rate-limit.test.ts', 'one address too fast is refused before its bearers are looked at'],
      ],
      'sizes of bodies': [
        ['test/api/envelope.test.ts', 'JSON of more than a mebibyte is refused, whether its length is said or found out'],
        ['test/api/mcp.test.ts', 'only POST, only JSON, at most a mebibyte and twenty messages'],
      ],
      'size of headers': [['test/api/session-forgery.test.ts', 'a token of a megabyte is refused in the envelope']],
      'slow headers, slow bodies, read or unread': [
        ['test/security/s04-slow-clients.test.ts', 'eight hundred slow clients hold nobody up, and are all shown the door'],
        ['test/api/server.test.ts', 'an idle sender of headers is cut off with an answer'],
      ],
      'readers that do not read': [
        ['test/security/s04-slow-clients.test.ts', 'whoever reads nothing of an answer is cut off; whoever reads late is not'],
      ],
    },
  },
  S5: {
    threat: 'a text on which a pattern takes for ever',
    goal: 'no pattern of ours that does; a tenth of a second for a pattern of theirs',
    held: {
      'every pattern of the source, by an analysis': [['test/boundaries.test.ts', 'slowPatterns']],
      'what files and CRMs send': [['test/security/s05-patterns.test.ts', 'takes no longer than its length']],
      'patterns people write: RE2, bounded in length times cell': [
        ['test/shared/imports/pattern.test.ts', 'no pattern takes longer than its cell is long'],
        ['test/shared/imports/pattern.test.ts', 'a pattern is as long as its repetitions written out, and marks of its own count nothing'],
      ],
      'cleaning steps that grow text, held to the limits of a row and a file': [
        [
          'test/shared/imports/cleaned-size.test.ts',
          'a step that makes a row longer than a reader accepts is refused by its number and row',
        ],
        [
          'test/shared/imports/cleaned-size.test.ts',
          'a file that steps make longer than a file may be is refused at the row that passes the limit',
        ],
      ],
      'the rest of what people write runs in the sandbox': [
        ['test/shared/expressions/bombs.test.ts', 'is answered in time, and the next evaluation is fine'],
      ],
    },
  },
  S6: {
    threat: 'an expression that breaks out, or takes the process with it',
    goal: 'sixty bombs and the process alive after each',
    held: {
      'sixty of them, each ended in time, the next evaluation fine': [
        ['test/shared/expressions/bombs.test.ts', 'there are at least sixty bombs, each with a name of its own'],
        ['test/shared/expressions/bombs.test.ts', 'is answered in time, and the next evaluation is fine'],
      ],
      'nothing is left for the next row, the next program': [
        ['test/shared/expressions/sandbox.test.ts', 'a row cannot change what the next one sees, nor what the next expression does'],
        ['test/shared/expressions/faults.test.ts', 'a library and a context are gone with the program that had them'],
      ],
      'who ended is one row, and a run that cannot go on says so': [
        ['test/workers/import-expressions.test.ts', 'a row that takes too long fails alone'],
        ['test/workers/import-expressions.test.ts', 'an expression in which every row takes too long stops the run, and says so'],
      ],
    },
  },
  S7: {
    threat: 'a small workbook that is a large one',
    goal: 'each refused before it is in memory',
    held: {
      'by what it declares': [
        ['test/shared/imports/xlsx-refused.test.ts', 'a workbook that declares too much is refused before anything is unpacked'],
      ],
      'shared strings, counted at each use': [
        ['test/shared/imports/xlsx-refused.test.ts', 'a shared string counts towards the unpack limit for every cell that names it'],
      ],
      'by what it hides': [['test/shared/imports/xlsx-refused.test.ts', 'one that lies about its size is counted while it is unpacked']],
      'entries over one another': [
        ['test/security/s07-archives.test.ts', 'entries that lie over one another count each for all that they unpack to'],
      ],
      'a hundred thousand entries': [['test/security/s07-archives.test.ts', 'a hundred thousand entries are refused by their number']],
      'archives in archives': [['test/security/s07-archives.test.ts', 'what is packed in what is packed is not unpacked']],
      'names that are paths': [['test/security/s07-archives.test.ts', 'names lead nowhere']],
      'entities of XML': [['test/security/s07-archives.test.ts', 'stand for nothing']],
      'shared strings': [
        ['test/security/s07-archives.test.ts', 'a long shared string that many cells name comes a few rows at a time'],
        ['test/security/s07-archives.test.ts', 'shared strings without an end are refused by their number of characters'],
      ],
      'few bytes for many cells, and text without an end': [
        ['test/shared/imports/xlsx-refused.test.ts', 'a few bytes that stand for more cells than any file has are refused'],
        ['test/shared/imports/xlsx-refused.test.ts', 'text without an end is refused long before it is in memory'],
      ],
    },
  },
  S8: {
    threat: 'a cell that a spreadsheet runs',
    goal: 'no formula in what is given to be opened, and every cell given back but for the apostrophe',
    held: {
      'results: cells, names, records, errors': [['test/security/s08-formulas.test.ts', 'no cell of the results is a formula']],
      'whatever the cells': [['test/security/s08-formulas.test.ts', 'whatever the cells, none is a formula']],
      plans: [['test/security/s08-formulas.test.ts', 'no cell of a plan is a formula']],
      'quotes by RFC 4180': [
        ['test/shared/imports/results-csv.test.ts', 'cells are quoted where they must be, and line ends inside them stay'],
      ],
      'failed rows start no formula, and are read back without loss': [
        ['test/shared/imports/failed-csv.test.ts', 'no cell starts a formula, and an upload of the file reads every cell as it was'],
        [
          'test/shared/imports/failed-csv.test.ts',
          'a formula below the sample is read back too, and a file without any is read as it stands',
        ],
      ],
      'failed rows as they were, since they are imported again': [
        ['test/shared/imports/failed-csv.test.ts', 'whatever is in the cells, an upload of the file reads them back as they were'],
      ],
      'a type that is not guessed': [
        ['test/api/envelope.test.ts', 'every answer names its request, and cannot be taken for something else'],
      ],
    },
  },
}
