import type {FieldSpec, ModuleSpec} from './schema.ts'

const industries = [
  'Banking',
  'Construction',
  'Education',
  'Energy',
  'Food',
  'Healthcare',
  'Manufacturing',
  'Retail',
  'Technology',
  'Transport',
]
const sources = ['Advertisement', 'Cold Call', 'Employee Referral', 'Online Store', 'Partner', 'Trade Show']

const text = (name: string, length: number, more: Partial<FieldSpec> = {}): FieldSpec => ({name, type: 'text', length, ...more})
const description: FieldSpec = {name: 'Description', type: 'textarea', length: 32_000}

const address = (prefix: string): FieldSpec[] => [
  text(`${prefix}Street`, 250),
  text(`${prefix}City`, 100),
  text(`${prefix}State`, 100),
  text(`${prefix}Code`, 30),
  text(`${prefix}Country`, 100),
]

const leads: ModuleSpec = {
  name: 'Leads',
  singular: 'Lead',
  plural: 'Leads',
  namingField: 'Full_Name',
  duplicateField: 'Email',
  convertable: true,
  fields: [
    text('Company', 200),
    text('First_Name', 40),
    text('Last_Name', 80, {mandatory: true}),
    text('Full_Name', 120, {formula: {join: ['First_Name', 'Last_Name']}}),
    text('Designation', 100),
    {name: 'Email', type: 'email', length: 100},
    {name: 'Secondary_Email', type: 'email', length: 100},
    {name: 'Phone', type: 'phone', length: 30},
    {name: 'Mobile', type: 'phone', length: 30},
    {name: 'Website', type: 'website', length: 255},
    {name: 'Lead_Source', type: 'picklist', options: sources},
    {
      name: 'Lead_Status',
      type: 'picklist',
      options: ['Attempted to Contact', {display: 'Fresh', actual: 'New'}, 'Contacted', 'Lost Lead', 'Not Contacted'],
    },
    {name: 'Industry', type: 'picklist', options: industries},
    {name: 'No_of_Employees', type: 'integer', length: 9},
    {name: 'Annual_Revenue', type: 'currency', length: 16},
    {name: 'Email_Opt_Out', type: 'boolean'},
    text('Street', 250),
    text('City', 100),
    text('State', 100),
    text('Zip_Code', 30),
    text('Country', 100),
    description,
  ],
}

const accounts: ModuleSpec = {
  name: 'Accounts',
  singular: 'Account',
  plural: 'Accounts',
  namingField: 'Account_Name',
  duplicateField: 'Account_Name',
  fields: [
    text('Account_Name', 200, {mandatory: true}),
    text('Account_Number', 40, {unique: true}),
    {name: 'Parent_Account', type: 'lookup', lookup: 'Accounts'},
    {name: 'Phone', type: 'phone', length: 30},
    {name: 'Website', type: 'website', length: 255},
    {name: 'Industry', type: 'picklist', options: industries},
    {name: 'Annual_Revenue', type: 'currency', length: 16},
    {name: 'Employees', type: 'integer', length: 9},
    ...address('Billing_'),
    description,
    {name: 'Latitude', type: 'double', length: 16, decimals: 9, custom: true},
    {name: 'Longitude', type: 'double', length: 16, decimals: 9, custom: true},
  ],
}

const contacts: ModuleSpec = {
  name: 'Contacts',
  singular: 'Contact',
  plural: 'Contacts',
  namingField: 'Full_Name',
  duplicateField: 'Email',
  fields: [
    text('First_Name', 40),
    text('Last_Name', 80, {mandatory: true}),
    text('Full_Name', 120, {formula: {join: ['First_Name', 'Last_Name']}}),
    {name: 'Account_Name', type: 'lookup', lookup: 'Accounts'},
    text('Title', 100),
    {name: 'Email', type: 'email', length: 100},
    {name: 'Phone', type: 'phone', length: 30},
    {name: 'Mobile', type: 'phone', length: 30},
    {name: 'Date_of_Birth', type: 'date'},
    {name: 'Lead_Source', type: 'picklist', options: sources},
    {name: 'Email_Opt_Out', type: 'boolean'},
    ...address('Mailing_'),
    description,
  ],
}

const deals: ModuleSpec = {
  name: 'Deals',
  singular: 'Deal',
  plural: 'Deals',
  namingField: 'Deal_Name',
  duplicateField: 'Deal_Name',
  fields: [
    text('Deal_Name', 120, {mandatory: true}),
    {
      name: 'Stage',
      type: 'picklist',
      mandatory: true,
      options: ['Qualification', 'Needs Analysis', 'Proposal', 'Negotiation', 'Closed Won', 'Closed Lost'],
    },
    {name: 'Account_Name', type: 'lookup', lookup: 'Accounts'},
    {name: 'Contact_Name', type: 'lookup', lookup: 'Contacts'},
    {name: 'Amount', type: 'currency', length: 16},
    {name: 'Probability', type: 'percent'},
    {name: 'Closing_Date', type: 'date', layoutRequired: true},
    {name: 'Type', type: 'picklist', options: ['Existing Business', 'New Business']},
    {name: 'Lead_Source', type: 'picklist', options: sources},
    text('Next_Step', 100),
    description,
  ],
}

const products: ModuleSpec = {
  name: 'Products',
  singular: 'Product',
  plural: 'Products',
  namingField: 'Product_Name',
  duplicateField: 'Product_Name',
  fields: [
    text('Product_Name', 200, {mandatory: true}),
    text('Product_Code', 40),
    {name: 'Product_Active', type: 'boolean', default: true},
    {name: 'Unit_Price', type: 'currency', length: 16},
    {name: 'Qty_in_Stock', type: 'double', length: 16},
    {name: 'Sales_Start_Date', type: 'date'},
    {name: 'Product_Category', type: 'picklist', options: ['Hardware', 'Software', 'Service']},
    description,
  ],
}

/**
 * An inventory module. Its records have at least one line from their create on. Source: answers of live organisations to a write without
 * lines; the vendor's lists of modules call the lines a subform.
 */
const quotes: ModuleSpec = {
  name: 'Quotes',
  singular: 'Quote',
  plural: 'Quotes',
  namingField: 'Subject',
  fields: [
    text('Subject', 120, {mandatory: true}),
    text('Quote_Code', 40, {unique: true, custom: true}),
    {name: 'Quote_Stage', type: 'picklist', options: ['Draft', 'Negotiation', 'Delivered', 'On Hold', 'Confirmed']},
    {name: 'Valid_Till', type: 'date'},
    {name: 'Account_Name', type: 'lookup', lookup: 'Accounts'},
    {
      name: 'Quoted_Items',
      type: 'subform',
      mandatory: true,
      subform: {
        module: 'Quoted_Items',
        columns: [
          {name: 'Product_Name', type: 'lookup', lookup: 'Products', mandatory: true},
          {name: 'Quantity', type: 'double', length: 16},
          {name: 'List_Price', type: 'currency', length: 16},
          text('Description', 200),
        ],
      },
    },
    description,
  ],
}

/** The standard modules of the CRM that imports use. */
export const standardModules: ModuleSpec[] = [leads, accounts, contacts, deals, products]
export const inventoryModules: ModuleSpec[] = [quotes]
