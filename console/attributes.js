// The attributes of a person beside names, department, job title and number, and how many characters
// the service takes of each (schema/attributes.h). The forms and the person's page follow this list.
export const ATTRIBUTES = { company: 64, office: 128, streetAddress: 1024, postalCode: 40, city: 128,
  country: 128, preferredLanguage: 128 };
